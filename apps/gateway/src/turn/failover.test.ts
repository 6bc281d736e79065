import { describe, expect, it } from '@jest/globals';
import type { EngineChunk } from '@turnpike/inference';
import type { Format } from '@turnpike/formats';
import { ApiError } from '@turnpike/protocol';
import { Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import { unpackSampledIds } from '@turnpike/sealing';
import { ANSWER, BEGINNING, engineOf, format, serviceOf, text } from '../../testing/engine-service.js';
import { sealer } from '../../testing/turn-service.js';

/** The same family under another name: what it renders is rendered anew. */
const otherFormat = Object.create(format, { name: { value: 'other' } }) as Format;

const DOWN = new ApiError('engine_unavailable');

describe('an engine that fails before it has sampled anything', () => {
  it.each([
    'engine_unavailable',
    'engine_error',
    'engine_refused',
    'engine_timeout',
    'server_is_overloaded',
  ] as const)('is replaced, and the other one’s answer is counted alone: %s', async (code) => {
    const alone = await serviceOf(engineOf('b', [ANSWER])).run();
    const [a, b] = [engineOf('a', [{ ids: [] }], new ApiError(code)), engineOf('b', [ANSWER])];
    const { response, types } = await serviceOf(a, b).run();
    expect(response.status).toBe('completed');
    expect(response.usage).toEqual(alone.response.usage);
    expect(types).toEqual(alone.types);
    expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
    expect(b.requests[0]?.prompt).toEqual(a.requests[0]?.prompt);
  });

  it('is replaced once', async () => {
    const all = ['a', 'b', 'c'].map((name) => engineOf(name, [], DOWN));
    const { response } = await serviceOf(...all).run();
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(all.map(({ requests }) => requests.length)).toEqual([1, 1, 0]);
  });

  it('leaves nothing behind of what was opened for it', async () => {
    const tools = [{ type: 'function', name: 'f', parameters: {} }];
    const call: EngineChunk = { ids: [...text('{}'), 200012], finish: 'stop' };
    const { response, types } = await serviceOf(engineOf('a', [], DOWN), engineOf('b', [call])).run({
      tools,
      tool_choice: { type: 'function', name: 'f' },
      reasoning: { effort: 'none' },
    });
    expect(response.output).toMatchObject([{ type: 'function_call', name: 'f', status: 'completed' }]);
    expect(types.filter((type) => type === 'response.output_item.added')).toHaveLength(1);
  });

  it('is replaced by one of another format, for which the conversation is rendered anew', async () => {
    const b = engineOf('b', [ANSWER]);
    const { run, store } = serviceOf(engineOf('a', [], DOWN), {
      ...b,
      format: otherFormat,
      engineModel: 'n',
    });
    const { response } = await run();
    expect([response.model, b.requests[0]?.model]).toEqual(['m', 'n']);
    const node = store.load('t', response.id);
    expect((node?.artifacts.get(Routing.name) as Route).engine.name).toBe('b');
    expect((node?.artifacts.get(Rendering.name) as Rendered).format).toBe('other');
    expect(node?.output.map(({ sampled }) => sampled?.format)).toEqual(['other', 'other']);
    // What its client carries back is read as what it was sampled as.
    const sealed = response.output.find(({ type }) => type === 'reasoning') as { encrypted_content: string };
    const opened = sealer.open('t', sealed.encrypted_content);
    expect(opened.kind === 'opened' && unpackSampledIds(opened.bytes)?.format).toBe('other');
  });

  it('is not replaced by one whose context the conversation does not fit into', async () => {
    const b = engineOf('b', [ANSWER]);
    const { response } = await serviceOf(engineOf('a', [], DOWN), { ...b, contextTokens: 20 }).run();
    expect(response).toMatchObject({ status: 'failed', error: { message: DOWN.message } });
    expect(b.requests).toEqual([]);
  });

  it('is replaced when it was to summarise, too', async () => {
    const [a, b] = [engineOf('a', [BEGINNING], new ApiError('engine_error')), engineOf('b', [ANSWER])];
    const window = await serviceOf(a, b).compact();
    expect(window.output.at(-1)?.type).toBe('compaction');
    expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
  });

  it('is replaced at a summary that it had begun, of which only the other one’s is counted and billed', async () => {
    const [a, b] = [engineOf('a', [BEGINNING], new ApiError('engine_error')), engineOf('b', [ANSWER])];
    const { compact, records } = serviceOf(a, b);
    const { usage } = await compact();
    expect(usage).toMatchObject({
      input_tokens: b.requests[0]?.prompt.length,
      output_tokens: ANSWER.ids.length,
    });
    expect(records).toMatchObject([
      {
        engine: 'b',
        partial: false,
        parts: [
          {
            purpose: 'compaction',
            prompt: usage.input_tokens,
            tokens: { input: usage.input_tokens, output: usage.output_tokens },
          },
        ],
      },
    ]);
  });

  it('and the other one with it: a summary is counted as far as that one came', async () => {
    const failing = (name: string, chunks: readonly EngineChunk[]) =>
      engineOf(name, chunks, new ApiError('engine_error'));
    const { run, records } = serviceOf(failing('a', [BEGINNING, BEGINNING]), failing('b', [BEGINNING]));
    const { response } = await run({
      context_management: [{ type: 'compaction', compact_threshold: 1 }],
      input: 'many words '.repeat(1_000),
    });
    expect(response).toMatchObject({ status: 'failed', usage: { output_tokens: BEGINNING.ids.length } });
    expect(records).toMatchObject([
      {
        engine: 'b',
        parts: [
          {
            tokens: {
              input: response.usage?.input_tokens,
              output: BEGINNING.ids.length,
            },
          },
        ],
      },
    ]);
  });
});

describe('no other engine is asked', () => {
  it('when something was sampled: the response fails with it', async () => {
    const b = engineOf('b', [ANSWER]);
    const { response } = await serviceOf(engineOf('a', [BEGINNING], new ApiError('engine_error')), b).run();
    expect(response).toMatchObject({
      status: 'failed',
      output: [{ type: 'message', status: 'incomplete', content: [{ text: 'hal' }] }],
      usage: { output_tokens: BEGINNING.ids.length },
    });
    expect(b.requests).toEqual([]);
  });

  it('when the request is at fault', async () => {
    const b = engineOf('b', [ANSWER]);
    const refused = engineOf('a', [], new ApiError('context_length_exceeded'));
    const { response } = await serviceOf(refused, b).run();
    expect(response).toMatchObject({ status: 'failed', error: { code: 'context_length_exceeded' } });
    expect(b.requests).toEqual([]);
  });
});
