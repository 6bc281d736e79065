import { describe, expect, it } from '@jest/globals';
import { harmony as harmonyFormat, type HeadSettings, type OutputEvent, type Piece } from '@turnpike/formats';
import { type Item, type Tool } from '@turnpike/protocol';
import { z } from 'zod';
import { MARKERS } from './markers.js';
import { outputEnd, sampledRange } from '../generation/output-end.js';
import { SimulatedModel } from './simulated-model.js';

const harmony = harmonyFormat();

/** The prompt as the gateway renders it. */
function prompt(head: Partial<HeadSettings>, items: readonly Item[]): number[] {
  const calls = new Map(
    items.flatMap((item) =>
      item.type === 'function_call' ? [[item.call_id, { name: item.name }] as const] : [],
    ),
  );
  const pieces: Piece[] = [
    ...harmony.renderHead({ tools: [], reasoningEffort: 'low', ...head }),
    ...items.flatMap((item) => harmony.renderItem(item, { calls, place: undefined }).pieces),
  ];
  const ids = pieces.flatMap((piece) =>
    typeof piece === 'number' ? [piece] : Array.from(harmony.tokenizer.encode(piece)),
  );
  return [...ids, ...harmony.generationPrompt(undefined)];
}

function events(ids: readonly number[], tools: readonly Tool[]): OutputEvent[] {
  const model = new SimulatedModel(harmony.tokenizer);
  const input = Int32Array.from(ids);
  const output = model.respond(input, model.reader.scan(input, [], 0));
  const end = outputEnd(output, harmony.stopIds, 500);
  const parser = harmony.parser(tools);
  return [...parser.push(sampledRange(output, 0, end.tokens)), ...parser.finish(end.finishReason)];
}

const user = (text: string): Item => ({
  type: 'message',
  id: 'msg_1',
  role: 'user',
  status: 'completed',
  content: [{ type: 'input_text', text }],
});

const PARAMETERS = {
  type: 'object',
  description: 'What to do.',
  properties: {
    note: { type: 'string', description: 'Free text, e.g. "type x = (_: {"' },
    level: { type: 'string', enum: ['low', 'high'], default: 'high' },
    times: { type: 'integer' },
    dry: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    place: {
      type: 'object',
      properties: { lat: { type: 'number' }, label: { type: 'string' } },
      required: ['lat'],
    },
    either: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    spare: { type: 'string' },
  },
  required: ['note', 'level', 'times', 'dry', 'tags', 'place', 'either'],
};

const TOOL: Tool = {
  type: 'function',
  name: 'act',
  description: 'Acts.\nReally.',
  parameters: PARAMETERS,
  strict: false,
};

describe('a prompt from the renderer', () => {
  it('is answered with a call whose arguments satisfy the schema of the tool', () => {
    const [open, ...rest] = events(prompt({ tools: [TOOL], instructions: 'Be brief.' }, [user('Do it')]), [
      TOOL,
    ]);
    expect(open).toEqual({ kind: 'open', header: { type: 'function_call', name: 'act' } });
    const text = rest.map((event) => (event.kind === 'text' ? event.text : '')).join('');
    const value: unknown = JSON.parse(text);
    expect(value).toMatchObject({ note: 'Do it', level: 'low' });
    expect(
      z.fromJSONSchema(PARAMETERS as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value).error,
    ).toBeUndefined();
    expect(rest.at(-1)).toMatchObject({ kind: 'close', complete: true });
  });

  it('is answered after the output of the call, with what it said', () => {
    const call: Item = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'act',
      arguments: '{}',
      status: 'completed',
    };
    const output: Item = {
      type: 'function_call_output',
      id: 'fco_1',
      call_id: 'call_1',
      output: 'all done',
      status: 'completed',
    };
    const answer = events(prompt({ tools: [TOOL] }, [user('Do it'), call, output]), [TOOL]);
    expect(answer[0]).toMatchObject({ kind: 'open', header: { type: 'message' } });
    expect(answer[1]).toEqual({
      kind: 'text',
      text: 'The tool said: "all done". You said: "Do it". (message 1, 1 tool output)',
    });
  });

  it('is answered in the format it asks for', () => {
    const schema = { type: 'object', properties: { a: { const: 5 } }, required: ['a'] };
    const answer = events(
      prompt({ responseFormat: { name: 'x', description: 'y', schema } }, [user('Hi')]),
      [],
    );
    expect(answer[1]).toEqual({ kind: 'text', text: '{"a":5}' });
  });

  it('can be answered wrongly in every way, and is still read', () => {
    const ways = MARKERS.find(({ key }) => key === 'broken')?.value.split('|') ?? [];
    for (const way of ways) {
      const call = events(prompt({ tools: [TOOL] }, [user(`Do it [sim broken=${way}]`)]), [TOOL]);
      const names = call.flatMap((event) => (event.kind === 'open' ? [event.header.type] : []));
      if (way !== 'nomessage') expect(names).toContain('function_call');
      const answer = events(prompt({}, [user(`Do it [sim broken=${way}]`)]), []);
      const text = answer.map((event) => (event.kind === 'text' ? event.text : '')).join('');
      expect(text).toContain('You said: "Do it".');
    }
  });
});
