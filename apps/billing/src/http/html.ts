/** Text that is HTML already, and is not escaped again. */
export class Html {
  constructor(readonly text: string) {}
}

export type HtmlValue = Html | string | number | bigint | undefined | null | readonly HtmlValue[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function textOf(value: HtmlValue): string {
  if (value === undefined || value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(textOf).join('');
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

/** A template whose values are escaped, for content and for attributes in quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.reduce((text, part, index) => text + textOf(values[index - 1]) + part));
}
