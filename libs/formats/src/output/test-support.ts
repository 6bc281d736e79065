import fc from 'fast-check';
import { type Tool } from '@turnpike/protocol';
import { type FinishReason, type OutputEvent } from '../format.js';
import { messagesOf, type ReadMessage } from '../harmony/test-support.js';
import { type Detokenizer, type Tokenizer } from '../tokenizer/types.js';
import { type TurnGrammar } from './turn-grammar.js';
import { TurnParser } from './turn-parser.js';

/** Helpers of the tests beside this file. */

/** A vocabulary in which every text may be one token: what it was first asked for gets the next id. */
export class AnyTokens implements Tokenizer {
  readonly name = 'any';
  readonly source = 'any';
  readonly fingerprint = 'any';
  readonly vocabularySize = 1_000_000;
  private readonly texts: string[] = [];
  private readonly ids = new Map<string, number>();

  constructor(private readonly controls: readonly string[] = []) {
    for (const control of controls) this.texts.push(control);
  }

  controlId(text: string): number | undefined {
    const id = this.controls.indexOf(text);
    return id < 0 ? undefined : id;
  }

  token(text: string): number {
    const known = this.ids.get(text);
    if (known !== undefined) return known;
    this.ids.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }

  /** Control tokens by their literals, the text between them cut by `cut`. */
  idsOf(text: string, cut: (text: string) => readonly string[] = (whole) => [...whole]): number[] {
    const literals = this.controls.map((control) => control.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    const parts = literals.length === 0 ? [text] : text.split(new RegExp(`(${literals.join('|')})`));
    return parts.flatMap((part) => {
      const control = this.controlId(part);
      return control === undefined ? cut(part).map((piece) => this.token(piece)) : [control];
    });
  }

  encode(text: string): Int32Array {
    return Int32Array.from(this.idsOf(text));
  }

  bytes(id: number): Uint8Array {
    return new TextEncoder().encode(this.texts[id]);
  }

  decode(ids: ArrayLike<number>): string {
    return Array.from(ids, (id) => this.texts[id] ?? '').join('');
  }

  detokenizer(): Detokenizer {
    return { push: (id) => this.decode([id]), flush: () => '' };
  }
}

/** Every marker of a grammar. */
export function markersIn(grammar: TurnGrammar): string[] {
  const { header, reasoning, calls, sections = [], ends } = grammar;
  const all = [
    ...(header === undefined ? [] : [...header.open, header.end]),
    ...(reasoning === undefined ? [] : [reasoning.open, reasoning.close]),
    ...calls.flatMap(({ open, markers }) => [open, ...markers]),
    ...sections,
    ...ends,
  ];
  // Control tokens of vocabularies are words of their own; what ends a name is not.
  return [...new Set(all)].filter((marker) => /^[<[\]]/.test(marker) && !/[="]$/.test(marker));
}

export interface Run {
  messages: ReadMessage[];
  events: OutputEvent[];
}

/** Parses ids in chunks of the given sizes, the last one repeated. */
export function parse(
  grammar: TurnGrammar,
  tokenizer: Tokenizer,
  ids: readonly number[],
  options: {
    tools?: readonly Tool[];
    opened?: readonly number[];
    reason?: FinishReason;
    chunks?: readonly number[];
  } = {},
): Run {
  const { tools = [], opened = [], reason = 'stop', chunks = [1] } = options;
  const parser = new TurnParser(grammar, { tokenizer, tools, opened });
  const events: OutputEvent[] = [];
  for (let at = 0, chunk = 0; at < ids.length; chunk++) {
    const size = chunks[Math.min(chunk, chunks.length - 1)] ?? 1;
    events.push(...parser.push(ids.slice(at, at + size)));
    at += size;
  }
  events.push(...parser.finish(reason));
  return { events, messages: messagesOf(events) };
}

/** A message in short: `reasoning`, `final`, `commentary` or `call NAME`, and its text. */
export function brief({ header, text, complete }: ReadMessage): string[] {
  const name = 'name' in header ? header.name : '';
  const owner = 'name' in header && header.namespace !== undefined ? `${header.namespace}/` : '';
  const kind = {
    reasoning: 'reasoning',
    message: header.type === 'message' && header.phase === 'final_answer' ? 'final' : 'commentary',
    function_call: `call ${owner}${name}`,
    custom_tool_call: `custom ${owner}${name}`,
    tool_search_call: `search ${name}`,
  }[header.type];
  return [complete ? kind : `${kind} (cut)`, text];
}

/** What the model was offered. */
export const TOOLS: Tool[] = [
  {
    type: 'function',
    name: 'add',
    parameters: {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        b: { type: ['number', 'null'] },
        text: { type: 'string' },
        flag: { type: 'boolean' },
        list: { type: 'array' },
      },
    },
  },
  { type: 'custom', name: 'apply_patch' },
  { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
];

/** Joins adjacent texts, and leaves out which ids a message has. */
export function joined(events: readonly OutputEvent[]): unknown[] {
  const result: OutputEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.kind === 'text' && last?.kind === 'text') last.text += event.text;
    else result.push({ ...event });
  }
  return result.map((event) =>
    event.kind === 'close' ? { kind: 'close', complete: event.complete } : event,
  );
}

/** Cuts a text at random places. */
export const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });
export function cutBy(sizes: readonly number[]): (text: string) => string[] {
  return (text) => {
    const parts: string[] = [];
    const characters = [...text];
    for (let at = 0, i = 0; at < characters.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      parts.push(characters.slice(at, at + size).join(''));
      at += size;
    }
    return parts;
  };
}
