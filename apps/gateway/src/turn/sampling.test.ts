import { describe, expect, it } from '@jest/globals';
import { ResponseAssembler } from '@turnpike/assembly';
import { HARMONY, harmony, type FinishReason } from '@turnpike/formats';
import type { EngineClient, GenerateRequest } from '@turnpike/inference';
import { newResponse, parseRequest, type EventFrame } from '@turnpike/protocol';
import { answerCheck } from '@turnpike/validation';
import { OutputRules, type OutputRulesOptions } from './output-rules.js';
import { UNMETERED } from '../../testing/metering.js';
import { sample, type SamplingInput } from './sampling.js';
import { TokenGenerations } from './token-generations.js';

const format = harmony();
const { tokenizer } = format;
const controls = new Map(Object.values(HARMONY).map((id) => [tokenizer.decode([id]), id]));

/** Ids of an output written out with its control tokens. */
function idsOf(text: string): number[] {
  return text.split(/(<\|\w+\|>)/).flatMap((part) => {
    const control = controls.get(part);
    return control === undefined ? [...tokenizer.encode(part)] : [control];
  });
}

interface Answer {
  readonly text: string;
  readonly finish?: FinishReason;
  readonly cached?: number;
  /** Tokens that it says it has written and not sent. */
  readonly lost?: number;
  /** What it has written besides when it is told to stop. */
  readonly late?: string;
}

/** An engine that gives these answers, one id a chunk, and keeps what it was asked. */
function scripted(answers: readonly Answer[]) {
  const requests: { prompt: string; maxTokens: number; json: unknown }[] = [];
  /** Ids that were taken from each answer. */
  const taken: number[] = [];
  const engine: EngineClient = {
    name: 'scripted',
    capabilities: () => Promise.reject(new Error('not asked here')),
    async *generate(request: GenerateRequest, signal: AbortSignal) {
      const { text, finish = 'stop', cached, lost, late = '' } = answers[requests.length] ?? { text: '' };
      const { json, maxTokens } = request;
      const prompt = JSON.parse(Buffer.concat([...request.prompt.json]).toString()) as number[];
      requests.push({ prompt: tokenizer.decode(prompt), maxTokens, json });
      const at = taken.push(0) - 1;
      for (const id of idsOf(text)) {
        taken[at] = (taken[at] ?? 0) + 1;
        yield { ids: [id] };
        if (!signal.aborted) continue;
        if (late !== '') yield { ids: idsOf(late) };
        throw signal.reason;
      }
      yield { ids: [], lost, finish, usage: { cachedTokens: cached } };
    },
    close: () => Promise.resolve(),
  };
  return { engine, requests, taken };
}

async function run(
  answers: readonly Answer[],
  rules: Partial<OutputRulesOptions['tools']>,
  { answerSchema, ...input }: Partial<SamplingInput> & { answerSchema?: Record<string, unknown> } = {},
) {
  const { engine, requests, taken } = scripted(answers);
  const request = parseRequest({ model: 'm' }, 'http');
  const assembler = new ResponseAssembler(newResponse('resp_1', request, 0), {
    toolsKey: '[]',
    echoBytes: 1_000,
  });
  assembler.begin();
  const frames: EventFrame[] = [];
  let begun = 0;
  const tools = { required: false, allowed: 'any' as const, maxCalls: Infinity, ...rules };
  const result = await sample({
    money: UNMETERED,
    source: new TokenGenerations({
      engine,
      format,
      tools: [
        { type: 'function', name: 'f' },
        { type: 'function', name: 'g' },
      ],
      request: { model: 'm', stopIds: format.stopIds, temperature: 1, topP: 1 },
      promptWith: ({ written = [], opening }) => {
        const opened = format.generationPrompt(undefined, undefined, opening);
        const ids = [...written.flatMap((item) => [...(item.ids ?? [])]), ...opened];
        return { length: ids.length, json: [Buffer.from(JSON.stringify(ids))], opened };
      },
      contextTokens: 10_000,
      answerSchema,
    }),
    maxTokens: 1_000,
    interrupted: () => false,
    promptTokens: 2,
    folded: 0,
    readsAll: true,
    rules: new OutputRules({ tools, bindsAnswer: answerSchema !== undefined, reasons: true }),
    assembler,
    sink: { send: (sent) => frames.push(...sent), ready: () => undefined },
    signal: new AbortController().signal,
    onFirstChunk: () => begun++,
    ...input,
  });
  const items = assembler.items.map(({ item, ids }) => [item.type, tokenizer.decode(ids ?? [])]);
  return { result, items, requests, taken, begun, frames };
}

const THOUGHT = '<|channel|>analysis<|message|>hm<|end|>';
const ANSWER = '<|start|>assistant<|channel|>final<|message|>';
const CALL = (name: string) =>
  `<|start|>assistant to=functions.${name}<|channel|>commentary <|constrain|>json<|message|>`;
const required = { required: true, allowed: [{ type: 'function', name: 'f' }] } as const;

describe('sample', () => {
  it('stops before a message that must not be, and goes on behind what was delivered', async () => {
    const first = `${THOUGHT}${ANSWER}I would rather talk.<|return|>`;
    const { result, items, requests, taken, begun } = await run(
      [{ text: first, cached: 7 }, { text: '{}<|call|>' }],
      required,
    );
    const kept = `<|start|>assistant${THOUGHT}`;
    expect(requests.map(({ prompt }) => prompt)).toEqual(['<|start|>assistant', `${kept}${CALL('f')}`]);
    expect(items).toEqual([
      ['reasoning', kept],
      ['function_call', `${CALL('f')}{}<|call|>`],
    ]);
    // Not a token of the answer's text was waited for; all that was sampled is counted, the opened header is not.
    const stopped = idsOf(`${THOUGHT}${ANSWER}`).length;
    expect(taken).toEqual([stopped, idsOf('{}<|call|>').length]);
    expect(requests[1]?.maxTokens).toBe(1_000 - stopped);
    expect(result).toMatchObject({
      ending: { status: 'completed' },
      usage: { input_tokens: 2, output_tokens: stopped + idsOf('{}<|call|>').length },
    });
    expect(begun).toBe(1);
  });

  it('counts what the engine had written when it was stopped, and passes none of it on', async () => {
    const { result, items } = await run(
      [{ text: `${THOUGHT}${ANSWER}no<|return|>`, late: 'late' }, { text: '{}<|call|>' }],
      required,
    );
    expect(items.map(([type]) => type)).toEqual(['reasoning', 'function_call']);
    const sampled = idsOf(`${THOUGHT}${ANSWER}`).length + idsOf('late').length + idsOf('{}<|call|>').length;
    expect(result).toMatchObject({ ending: { status: 'completed' }, usage: { output_tokens: sampled } });
  });

  it.each([
    ['what was lost on its way', 5, 5, 0],
    ['no more than it was asked for, whatever it says', 9e15, 1_000, 1],
  ])('counts %s', async (_what, lost, sampled, times) => {
    let cut = 0;
    const text = `${THOUGHT}${ANSWER}done`;
    const { result } = await run([{ text, lost }], {}, { money: { ...UNMETERED, clamped: () => cut++ } });
    const own = idsOf(text).length;
    expect([result.usage.output_tokens, cut]).toEqual([Math.min(1_000, own + lost), times]);
    expect(result.usage.output_tokens).toBeGreaterThanOrEqual(sampled);
  });

  it('says when more was cached than there was', async () => {
    let cut = 0;
    const answers = [{ text: `${THOUGHT}${ANSWER}done`, cached: 1_000 }];
    const { result } = await run(answers, {}, { money: { ...UNMETERED, clamped: () => cut++ } });
    expect([result.usage.input_tokens_details.cached_tokens, cut]).toEqual([2, 1]);
  });

  it('stops behind the last call there may be', async () => {
    const { result, items, taken, frames } = await run(
      [{ text: `${THOUGHT}${CALL('f')}{}<|end|>${CALL('g')}{"long":"text"}<|call|>` }],
      { maxCalls: 1 },
    );
    expect(items.map(([type]) => type)).toEqual(['reasoning', 'function_call']);
    expect(items[1]?.[1]).toBe(`${CALL('f')}{}<|end|>`);
    expect(taken).toEqual([idsOf(`${THOUGHT}${CALL('f')}{}<|end|>${CALL('g')}`).length]);
    expect(frames.filter(({ type }) => type === 'response.output_item.added')).toHaveLength(2);
    expect(result.ending).toEqual({ status: 'completed' });
  });

  it('is incomplete when the tokens run out before the second generation, or in it', async () => {
    const first = { text: `${THOUGHT}${ANSWER}no<|return|>` };
    const spent = { maxTokens: idsOf(`${THOUGHT}${ANSWER}`).length };
    const ran = await run([first], required, spent);
    expect(ran.requests).toHaveLength(1);
    expect(ran.result.ending).toEqual({ status: 'incomplete', reason: 'max_output_tokens' });
    const cut = await run([first, { text: '{"a', finish: 'length' }], required);
    expect(cut.result.ending).toEqual({ status: 'incomplete', reason: 'max_output_tokens' });
    expect(cut.items.at(-1)).toEqual(['function_call', '']);
  });

  it('binds the answer alone to its schema', async () => {
    const answerSchema = { type: 'object' };
    const check = answerCheck({ type: 'json_object' });
    const { requests, items, result } = await run(
      [{ text: `${THOUGHT}${ANSWER}Sure: {}<|return|>` }, { text: '{}<|return|>' }],
      {},
      { answerSchema, check },
    );
    expect(requests.map(({ json }) => json)).toEqual([undefined, answerSchema]);
    expect(items.at(-1)).toEqual(['message', `${ANSWER}{}<|end|>`]);
    expect(result.ending).toEqual({ status: 'completed' });
  });

  it('fails a completed answer that is not what was asked for, and says whose fault it is', async () => {
    const check = answerCheck({ type: 'json_object' });
    const { result } = await run([{ text: '<|channel|>final<|message|>Sure!<|return|>' }], {}, { check });
    expect(result.failure?.code).toBe('invalid_answer');
    expect(result.ending).toMatchObject({ status: 'failed', code: 'server_error' });
    const length = await run([{ text: '<|channel|>final<|message|>Sure', finish: 'length' }], {}, { check });
    expect(length.result.ending.status).toBe('incomplete');
  });
});
