import { randomUUID } from 'node:crypto';
import { elementsAt, membersAt } from './json-spans.js';

/**
 * What `JSON.parse` loses of a list of tools: the text of numbers (`1.0`, `12345678901234567890`) and the order of keys that
 * look like integers (`{"2":1,"1":2}`). Templates of models write both as they were sent.
 */

/** Text of lists whose values do not tell it, by the parsed list. */
const texts = new WeakMap<object, string>();
/** Text of parameters, by the parsed object. */
const parametersTexts = new WeakMap<object, string>();

/** Remembers how a list was written. The text is copied: a part of a string keeps all of it in memory. */
export function keepToolsText(tools: unknown, text: string): void {
  if (Array.isArray(tools)) texts.set(tools, Buffer.from(text).toString());
}

/** How a list was written, where its values do not tell that. */
export function toolsTextOf(tools: object): string | undefined {
  return texts.get(tools);
}

/** How the parameters of a tool were written, where their value does not tell that. */
export function parametersTextOf(parameters: object): string | undefined {
  return parametersTexts.get(parameters);
}

/** Remembers how the parameters of each tool of a list were written. @param text of the list, which is valid JSON */
export function keepParametersTexts(tools: readonly object[], text: string): void {
  const spans = elementsAt(text, 0);
  tools.forEach((tool, index) => {
    const span = spans[index];
    if (span === undefined) return;
    const members = membersAt(text, span.from);
    const parameters = members.get('parameters');
    if (parameters !== undefined && 'parameters' in tool && isObject(tool.parameters)) {
      parametersTexts.set(tool.parameters, text.slice(parameters.from, parameters.to));
    }
    const inner = members.get('tools');
    if (inner !== undefined && 'tools' in tool && Array.isArray(tool.tools)) {
      keepParametersTexts(tool.tools as object[], text.slice(inner.from, inner.to));
    }
  });
}

/** Remembers how the lists of tools in the items of an object were written. @param text of the object */
export function keepItemToolsTexts(value: object, text: string): void {
  for (const [tools, written] of itemTools(value, text)) keepToolsText(tools, written);
}

/**
 * Remembers the parameters of the tools in an item, or in the items of an object.
 * @param text what {@link jsonOf} wrote of it
 */
export function keepStoredTexts(value: object, text: string): void {
  const own = membersAt(text, text.indexOf('{')).get('tools');
  const lists = own === undefined ? [] : [[toolsOf(value), text.slice(own.from, own.to)] as const];
  for (const [tools, written] of [...lists, ...itemTools(value, text)]) {
    keepParametersTexts(tools, Buffer.from(written).toString());
  }
}

/**
 * JSON of an item, or of an object with a list of tools or of items, in which parameters of tools are written as they were
 * sent: `parseJson` and `parseStored` remember them from it.
 */
export function jsonOf(value: object): string {
  const lists = Object.values(value).filter((member) => Array.isArray(member));
  if (!hasKept(value) && !lists.some((list) => list.some(hasKept))) return JSON.stringify(value);
  const mark = randomUUID();
  const kept: string[] = [];
  const json = JSON.stringify(value, (_name, entry: unknown) => {
    const text = isObject(entry) ? (texts.get(entry) ?? parametersTexts.get(entry)) : undefined;
    return text === undefined ? entry : `${mark} ${kept.push(text) - 1}`;
  });
  return json.replace(
    new RegExp(`"${mark} (\\d+)"`, 'g'),
    (_all, index: string) => kept[Number(index)] ?? '',
  );
}

/** Whether it has tools of which more is remembered than their values tell. */
function hasKept(value: unknown): boolean {
  if (!isObject(value) || !('tools' in value) || !Array.isArray(value.tools)) return false;
  return (
    texts.has(value.tools) ||
    toolsOf(value).some(
      (tool) =>
        ('parameters' in tool && isObject(tool.parameters) && parametersTexts.has(tool.parameters)) ||
        hasKept(tool),
    )
  );
}

/** The lists of tools in items of an object, each with its text. */
function* itemTools(value: object, text: string): Generator<[tools: readonly object[], text: string]> {
  const members = new Map(Object.entries(value));
  for (const [name, { from }] of membersAt(text, text.indexOf('{'))) {
    const list: unknown = members.get(name);
    if (name === 'tools' || !Array.isArray(list) || !list.some((item) => toolsOf(item).length > 0)) continue;
    const spans = elementsAt(text, from);
    for (const [index, item] of list.entries()) {
      const tools = toolsOf(item);
      const span = tools.length === 0 ? undefined : spans[index];
      const written = span && membersAt(text, span.from).get('tools');
      if (written !== undefined) yield [tools, text.slice(written.from, written.to)];
    }
  }
}

function toolsOf(value: unknown): readonly object[] {
  return isObject(value) && 'tools' in value && Array.isArray(value.tools) ? (value.tools as object[]) : [];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
