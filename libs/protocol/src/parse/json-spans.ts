/** Where a value stands in a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The members of the list that begins at `start`, in text that is valid JSON. */
export function elementsAt(text: string, start: number): Span[] {
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

/** The members of the object that begins at `start`, in text that is valid JSON. Of two members of one name the last counts, as in `JSON.parse`. */
export function membersAt(text: string, start: number): Map<string, Span> {
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
