import type { ItemKind } from './categories.js';
import { unescaped } from './escapes.js';

/** A text that a model may be shown. */
export interface VisibleText {
  readonly kind: ItemKind;
  readonly text: string;
  /** Path of its field below the item or the request, as in `.content[0].text`. */
  readonly path: string;
  /** True for what stands beside what is said, as the id of a call does: nothing goes on from it, nor it from anything. */
  readonly apart?: true;
}

/** Fields that are shown as JSON, names and all. */
export const JSON_FIELDS: ReadonlySet<string> = new Set([
  'action',
  'actions',
  'operation',
  'arguments',
  'parameters',
  'schema',
  'error',
]);

/** All texts below a value that is shown as JSON: names of fields are words as well. */
export function collectJson(value: unknown, kind: ItemKind, path: string, texts: VisibleText[]): void {
  if (typeof value === 'string') addText(value, kind, path, texts);
  else if (Array.isArray(value)) value.forEach((each) => collectJson(each, kind, path, texts));
  else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      addText(key, kind, path, texts);
      collectJson(each, kind, path, texts);
    }
  }
}

/**
 * Adds a text that should be JSON. Some formats show it as it stands and some what it says, so both are read: the latter as what
 * is said, whatever the JSON is worth, as a name that stands there twice is shown once.
 */
export function addJsonText(text: string, kind: ItemKind, path: string, texts: VisibleText[]): void {
  if (!text.includes('\\')) return addText(text, kind, path, texts);
  texts.push({ kind, text, path, apart: true });
  addText(unescaped(text), kind, path, texts);
}

export function addText(text: string, kind: ItemKind, path: string, texts: VisibleText[]): void {
  if (text !== '') texts.push({ kind, text, path });
}
