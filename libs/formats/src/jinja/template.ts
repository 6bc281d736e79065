import { Template } from '@huggingface/jinja';
import { ApiError } from '@turnpike/protocol';
import { dumps, treeOf } from '../json/python-text.js';
import type { JsonTree } from '../json/json-text.js';
import { numberIn } from './escape.js';

/** Name of the function that takes the place of the engine's own `tojson`. */
const TO_JSON = 'turnpike_tojson';

/** A chat template that renders as transformers does, whose `tojson` is Python's. */
export class ChatTemplate {
  readonly #template: Template;

  /** @throws Error when the text is no template */
  constructor(text: string) {
    // This function of the engine cannot be given: the date is that of the chain, not of the clock.
    this.#template = new Template(text.replaceAll('strftime_now', 'turnpike_strftime'));
    replaceFilters(this.#template.parsed);
  }

  /**
   * @param date YYYY-MM-DD; what templates call today
   * @throws ApiError template_refused with the words of the template, where it raises
   */
  render(values: Readonly<Record<string, unknown>>, date: string | undefined): string {
    try {
      return this.#template.render({
        ...values,
        [TO_JSON]: toJson,
        turnpike_strftime: (pattern: string) => strftime(pattern, date ?? '1970-01-01'),
      });
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      throw new ApiError('template_refused', {
        param: 'input',
        message: `The chat template of the model refuses this conversation: ${reason}`,
      });
    }
  }
}

interface Node {
  type?: unknown;
  filter?: { type?: unknown; value?: unknown; callee?: { value?: unknown }; args?: unknown[] };
  operand?: unknown;
  callee?: unknown;
  args?: unknown;
}

/** Makes a call of every `value | tojson`. */
function replaceFilters(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  for (const child of Object.values(node)) replaceFilters(child);
  const expression = node as Node;
  const { filter } = expression;
  if (expression.type !== 'FilterExpression' || filter === undefined) return;
  const name = filter.type === 'CallExpression' ? filter.callee?.value : filter.value;
  if (name !== 'tojson') return;
  const args = filter.type === 'CallExpression' ? (filter.args ?? []) : [];
  expression.args = [expression.operand, ...args];
  expression.callee = { type: 'Identifier', value: TO_JSON };
  expression.type = 'CallExpression';
  delete expression.filter;
  delete expression.operand;
}

/** A value inside the engine. */
interface RuntimeValue {
  readonly type: string;
  readonly value: unknown;
}

function toJson(value: unknown, options?: unknown): string {
  const indent =
    options instanceof Map ? (options.get('indent') as RuntimeValue | undefined)?.value : options;
  return dumps(plainTree(value), typeof indent === 'number' ? indent : 0);
}

function plainTree(value: unknown): JsonTree {
  if (value instanceof Map) {
    return new Map(
      [...(value as Map<string, RuntimeValue>)].map(([key, member]) => [key, plainTree(member.value)]),
    );
  }
  if (Array.isArray(value)) return value.map((member: RuntimeValue) => plainTree(member.value));
  if (typeof value === 'string') {
    const number = numberIn(value);
    return number === undefined ? value : { number };
  }
  return treeOf(value);
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The parts of `strftime` that name a day. */
function strftime(pattern: string, date: string): string {
  const day = new Date(`${date}T00:00:00Z`);
  const [year = '', month = '', number = ''] = date.split('-');
  const name = MONTHS[day.getUTCMonth()] ?? '';
  const weekday = DAYS[day.getUTCDay()] ?? '';
  const parts: Readonly<Record<string, string>> = {
    Y: year,
    m: month,
    d: number,
    B: name,
    b: name.slice(0, 3),
    A: weekday,
    a: weekday.slice(0, 3),
    y: year.slice(2),
    H: '00',
    M: '00',
    S: '00',
    '%': '%',
  };
  return pattern.replace(/%([a-zA-Z%])/g, (whole, part: string) => parts[part] ?? whole);
}
