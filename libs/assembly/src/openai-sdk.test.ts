import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { EventFrame } from '@turnpike/protocol';
import {
  assembler,
  customCall,
  functionCall,
  message,
  parsed,
  reasoning,
  run,
  toolSearch,
  type Message,
} from '../testing/script.js';
import type { Ending } from './assembler.js';

/** OpenAI's client in front of a server that answers with these frames. */
function streamOf(frames: readonly EventFrame[]) {
  const text = frames.map(({ type, json }) => `event: ${type}\ndata: ${json}\n\n`).join('');
  const headers = { 'content-type': 'text/event-stream' };
  const client = new OpenAI({
    apiKey: 'k',
    baseURL: 'http://127.0.0.1/v1',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers })),
  });
  return client.responses.stream({ model: 'm', input: 'hi' });
}

/** Without what the SDK adds: `output_text`, `parsed`, `parsed_arguments`. */
function onTheWire(response: unknown): unknown {
  return JSON.parse(
    JSON.stringify(response, (key, value: unknown) =>
      ['output_text', 'output_parsed', 'parsed', 'parsed_arguments'].includes(key) ? undefined : value,
    ),
  );
}

const OUTPUTS: [string, Message[]][] = [
  ['text', [message('Hel', 'lo')]],
  ['a search for tools', [toolSearch('{"query":', '"x"}')]],
  ['reasoning and text', [reasoning('Think', 'ing.'), message('Answer')]],
  [
    'tool calls',
    [reasoning('hm'), message('Let me look.'), functionCall('{"city":', '"Oslo"}'), customCall('a', '\nb')],
  ],
  ['an empty message', [message()]],
  ['nothing', []],
];
const ENDINGS: [string, Ending][] = [
  ['completed', { status: 'completed' }],
  ['incomplete', { status: 'incomplete', reason: 'max_output_tokens' }],
  ['failed', { status: 'failed', code: 'server_error', message: 'm' }],
];

describe('the openai client', () => {
  it.each(
    OUTPUTS.flatMap(([what, messages]) =>
      ENDINGS.map(([how, ending]) => [what, how, messages, ending] as const),
    ),
  )('reads %s that ends %s as the response we keep', async (_what, _how, messages, ending) => {
    const response = assembler();
    const final = await streamOf(run(response, [parsed(messages)], ending)).finalResponse();
    expect(onTheWire(final)).toEqual(onTheWire(response.response));
  });

  it.each(OUTPUTS)('puts %s together from the deltas alone', async (_, messages) => {
    const response = assembler();
    const frames = run(response, [parsed(messages)]);
    const final = await streamOf(frames.slice(0, -1)).finalResponse();
    expect(final.status).toBe('in_progress');
    expect(onTheWire(final.output)).toEqual(onTheWire(response.response.output));
  });

  it('shows text and arguments as they grow', async () => {
    const stream = streamOf(run(assembler(), [parsed([message('Hel', 'lo'), functionCall('{', '}')])]));
    const grown: string[] = [];
    stream.on('response.output_text.delta', (event) => grown.push(event.snapshot));
    stream.on('response.function_call_arguments.delta', (event) => grown.push(event.snapshot));
    const { output_text } = await stream.finalResponse();
    expect(grown).toEqual(['Hel', 'Hello', '{', '{}']);
    expect(output_text).toBe('Hello');
  });

  it('is not thrown off by a sign of life inside an item', async () => {
    const response = assembler();
    const [open, text, ...rest] = parsed([message('Hel', 'lo')]);
    const frames = [...response.begin(), response.keepAlive()];
    for (const event of [open, text])
      if (event !== undefined) frames.push(...response.push([event]), response.keepAlive());
    frames.push(...response.push(rest));
    const final = await streamOf(frames).finalResponse();
    expect(final.output_text).toBe('Hello');
  });
});
