import type { Piece } from '@turnpike/formats';

let words = 0;

/** A value with a word of its own in each of its strings, also in JSON texts, but for the fields to `keep`, and in the names of free fields. */
export function marked(value: unknown, keep: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    if (value.startsWith('{')) return JSON.stringify(marked(JSON.parse(value), keep));
    return `${value}w${(words += 1)}w`;
  }
  if (Array.isArray(value)) return value.map((each) => marked(each, keep));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (key === 'FREE') return [`keyw${(words += 1)}w`, marked(each, keep)];
      return [key, keep.has(key) ? each : marked(each, keep)];
    }),
  );
}

export const wordsIn = (text: string): string[] => text.match(/w\d+w/g) ?? [];

/** The words of a piece of a prompt. Where pieces are cut, a word is not: each stands in one text. */
export function wordsOf(pieces: readonly Piece[]): string[] {
  return pieces.flatMap((piece) => (typeof piece === 'string' ? wordsIn(piece) : []));
}

/** Fields whose values are words of the protocol. */
export const FIXED = new Set([
  'type',
  'role',
  'status',
  'execution',
  'id',
  'phase',
  'image_url',
  'effort',
  'syntax',
  'encrypted_content',
]);

export const schema = {
  type: 'object',
  description: 'd',
  title: 't',
  properties: {
    FREE: { type: 'string', description: 'd', enum: ['e'], default: 'f', examples: ['g'] },
    b: { oneOf: [{ type: 'string', description: 'h' }] },
  },
};
const tool = { type: 'function', name: 'n', description: 'd', parameters: schema };

/** A tool of each kind that is shown to models. */
export const tools = [
  tool,
  {
    type: 'custom',
    name: 'c',
    description: 'd',
    format: { type: 'grammar', syntax: 'lark', definition: 'g' },
  },
  { type: 'namespace', name: 's', description: 'd', tools: [tool] },
  { type: 'tool_search', execution: 'client', description: 'd', parameters: schema },
];
