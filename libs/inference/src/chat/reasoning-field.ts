import type { Fields } from '../read-values.js';

/** Reasoning of one delta, or of a message that comes whole: its text, and the field that held it. */
export interface SaidReasoning {
  readonly text: string;
  /** Undefined for what stands among the content. */
  readonly field: 'reasoning_content' | 'reasoning' | undefined;
  /** OpenRouter's, beside or instead of a text: with what only the server can read. */
  readonly details: readonly Fields[];
}

/** A field as it is to go back to the server. */
export interface ReasoningField {
  readonly name: string;
  readonly value: unknown;
}

/** Puts the reasoning of one item together, as the field that it came in. */
export class ReasoningFields {
  #field: SaidReasoning['field'];
  #text = '';
  #details: Fields[] = [];

  add({ text, field, details }: SaidReasoning): void {
    if (text !== '') this.#field ??= field;
    this.#text += text;
    const [first, ...others] = details;
    if (first === undefined) return;
    const last = this.#details.at(-1);
    if (last !== undefined && goesOn(last, first))
      this.#details[this.#details.length - 1] = joined(last, first);
    else this.#details.push(first);
    for (const other of others) this.#details.push(other);
  }

  /**
   * What was put together, once. Details say all that the text beside them says, and more.
   * @returns undefined where the usual field is the one, or none is
   */
  take(): ReasoningField | undefined {
    const [name, text, details] = [this.#field, this.#text, this.#details];
    this.#field = undefined;
    this.#text = '';
    this.#details = [];
    if (details.length > 0) return { name: 'reasoning_details', value: details };
    return name === 'reasoning' ? { name, value: text } : undefined;
  }
}

/** Whether a detail is the next piece of one: of the same kind and place, which was not signed or encrypted before. */
function goesOn(last: Fields, next: Fields): boolean {
  const isText = (detail: Fields) => typeof detail['data'] !== 'string';
  const same = (name: string) => next[name] === undefined || next[name] === last[name];
  const isSigned = typeof last['signature'] === 'string' && last['signature'] !== '';
  return isText(last) && isText(next) && !isSigned && same('type') && same('index') && same('id');
}

function joined(last: Fields, next: Fields): Fields {
  const result: Record<string, unknown> = { ...last };
  for (const [name, value] of Object.entries(next)) {
    const before = last[name];
    const grows = (name === 'text' || name === 'summary') && typeof before === 'string';
    if (grows && typeof value === 'string') result[name] = before + value;
    else if (value !== undefined && value !== null) result[name] = value;
  }
  return result;
}
