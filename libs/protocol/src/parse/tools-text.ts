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

interface Span {
  readonly from: number;
  readonly to: number;
}

function elementsAt(text: string, start: number): Span[] {
  const spans: Span[] = [];
  let at = spaceEnd(text, start) + 1;
  for (;;) {
    at = spaceEnd(text, at);
    if (at >= text.length || text.charAt(at) === ']') return spans;
    const to = valueEnd(text, at);
    spans.push({ from: at, to });
    at = spaceEnd(text, to);
    if (text.charAt(at) === ',') at++;
  }
}

/** Of two members of one name the last counts, as in `JSON.parse`. */
function membersAt(text: string, start: number): Map<string, Span> {
  const members = new Map<string, Span>();
  let at = spaceEnd(text, start) + 1;
  for (;;) {
    at = spaceEnd(text, at);
    if (at >= text.length || text.charAt(at) === '}') return members;
    const nameEnd = valueEnd(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const from = spaceEnd(text, spaceEnd(text, nameEnd) + 1);
    const to = valueEnd(text, from);
    members.set(name, { from, to });
    at = spaceEnd(text, to);
    if (text.charAt(at) === ',') at++;
  }
}

function spaceEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Index behind the value that begins at `from`. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') {
      at = stringEnd(text, at);
      if (depth === 0) return at + 1;
    } else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      depth--;
      if (depth === 0) return at + 1;
      if (depth < 0) return at;
    } else if (depth === 0 && (char === ',' || char.charCodeAt(0) <= 0x20)) return at;
  }
  return text.length;
}

/** Index of the quote that closes the string opened at `open`; the text's length when it is never closed. */
export function stringEnd(text: string, open: number): number {
  let from = open + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
