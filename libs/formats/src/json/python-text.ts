import { isEntries, isNumber, readJson, type JsonTree } from './json-text.js';
import { floatText } from './number-text.js';

/**
 * How the templates of models write values: `tojson` is Python's `json.dumps(value, ensure_ascii=False)`, and `string` its
 * `str(value)`. Source: `_compile_jinja_template` in transformers' utils/chat_template_utils.py.
 */

/** JSON with ", " and ": " between values, or, with `indent`, a line for each. */
export function dumps(tree: JsonTree, indent = 0, depth = 1): string {
  if (typeof tree === 'string') return quoted(tree);
  if (typeof tree !== 'object' || tree === null) return String(tree);
  if (isNumber(tree)) return tree.number;
  const [open, close, members] = isEntries(tree)
    ? ['{', '}', [...tree].map(([key, value]) => `${quoted(key)}: ${dumps(value, indent, depth + 1)}`)]
    : ['[', ']', tree.map((value) => dumps(value, indent, depth + 1))];
  if (members.length === 0) return open + close;
  if (indent === 0) return open + members.join(', ') + close;
  const line = `\n${' '.repeat(indent * depth)}`;
  return `${open}${line}${members.join(`,${line}`)}\n${' '.repeat(indent * (depth - 1))}${close}`;
}

/** JSON text as {@link dumps} writes what it stands for; text that is no JSON as it is. */
export function respaced(text: string): string {
  const tree = readJson(text);
  return tree === undefined ? text : dumps(tree);
}

/** A value that was parsed with `JSON.parse`, as a tree. Numbers are those of JavaScript; what is undefined is left out. */
export function treeOf(value: unknown): JsonTree {
  if (typeof value === 'number')
    return { number: Number.isInteger(value) ? integerText(value) : floatText(value) };
  if (Array.isArray(value)) return value.map(treeOf);
  if (typeof value === 'object' && value !== null) {
    return new Map(
      Object.entries(value).flatMap(([key, member]) =>
        member === undefined ? [] : [[key, treeOf(member)] as const],
      ),
    );
  }
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}

/** Python's `str` of a value. */
export function str(tree: JsonTree): string {
  return typeof tree === 'string' ? tree : repr(tree);
}

function repr(tree: JsonTree): string {
  if (typeof tree === 'string') return reprOfText(tree);
  if (tree === null) return 'None';
  if (typeof tree === 'boolean') return tree ? 'True' : 'False';
  if (isNumber(tree)) return tree.number.replace('Infinity', 'inf').replace('NaN', 'nan');
  if (isEntries(tree))
    return `{${[...tree].map(([key, value]) => `${repr(key)}: ${repr(value)}`).join(', ')}}`;
  return `[${tree.map(repr).join(', ')}]`;
}

function reprOfText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll(quote, `\\${quote}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return quote + escaped + quote;
}

/** Of characters past ASCII and of DEL `JSON.stringify` writes what Python does; lone surrogates become U+FFFD. */
function quoted(text: string): string {
  return JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());
}

function integerText(value: number): string {
  return Object.is(value, -0) ? '0' : BigInt(value).toString();
}

/** Python's `str.strip`, which knows other white space than `String.trim`. O(text). */
export function strip(text: string, isStripped = isPythonSpace): string {
  let from = 0;
  let to = text.length;
  while (from < to && isStripped(text.charCodeAt(from))) from += 1;
  while (to > from && isStripped(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

export function isLineFeed(unit: number): boolean {
  return unit === 0x0a;
}

const WIDE_SPACES = new Set([0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000]);

function isPythonSpace(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || (unit >= 0x1c && unit <= 0x1f);
  return WIDE_SPACES.has(unit) || (unit >= 0x2000 && unit <= 0x200a);
}

/** Python's `str.lstrip`. */
export function stripStart(text: string, isStripped: (unit: number) => boolean): string {
  let from = 0;
  while (from < text.length && isStripped(text.charCodeAt(from))) from += 1;
  return text.slice(from);
}
