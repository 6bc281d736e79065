import { describe, expect, it } from '@jest/globals';
import { MemoryConversationStore, MemoryResponseStore, type ResponseNode } from '@turnpike/conversation';
import { harmony } from '@turnpike/formats';
import type { EngineChunk, EngineClient, GenerateRequest } from '@turnpike/inference';
import { ApiError, parseRequest, type EventFrame } from '@turnpike/protocol';
import { routerTo, testTurnService } from '../../testing/turn-service.js';
import type { BackgroundTurn, TurnInput } from './turn-input.js';
import type { TurnService } from './turn.service.js';

const format = harmony();

/** An engine that answers "hi". */
const engine: EngineClient = {
  name: 'fake',
  capabilities: () => Promise.reject(new Error('not asked here')),
  async *generate() {
    const pieces = [
      200005,
      ...format.tokenizer.encode('final'),
      200008,
      ...format.tokenizer.encode('hi'),
      200002,
    ];
    yield { ids: pieces, finish: 'stop' };
  },
  close: () => Promise.resolve(),
};

/** Answers for as long as it may. */
async function* samplesUntil(_: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineChunk> {
  yield { ids: [200005, ...format.tokenizer.encode('final'), 200008] };
  for (;;) {
    signal.throwIfAborted();
    yield { ids: [...format.tokenizer.encode('hi')] };
    await new Promise((resolve) => setImmediate(resolve));
  }
}

class BrokenStore extends MemoryResponseStore {
  override save(_node: ResponseNode): void {
    throw new Error('the disk is full');
  }
}

function service(responses: MemoryResponseStore, engine: EngineClient): TurnService {
  const conversations = new MemoryConversationStore(1_000_000);
  return testTurnService({ responses, conversations, router: routerTo(engine) });
}

async function run(store: MemoryResponseStore, extra: Partial<TurnInput> = {}, by = engine) {
  const frames: EventFrame[] = [];
  const outcome = await service(store, by).run({
    request: parseRequest({ model: 'm', input: 'x' }, 'http'),
    tenant: 't',
    key: 'k',
    sink: { send: (batch) => void frames.push(...batch), ready: () => undefined },
    signal: new AbortController().signal,
    ...extra,
  });
  return { outcome, frames };
}

/** A response that was accepted before, and where it goes. */
function accepted() {
  const saved: ResponseNode[] = [];
  const background: BackgroundTurn = {
    id: 'resp_1',
    createdAt: 1_764_000_000,
    sequence: 2,
    save: (node) => void saved.push(node),
    cutOff: () => ({ status: 'cancelled' }),
  };
  return { background, saved };
}

describe('a turn', () => {
  it('is committed before its terminal event is written', async () => {
    const store = new MemoryResponseStore(1_000_000);
    const saved: string[] = [];
    const save = store.save.bind(store);
    store.save = (node) => {
      saved.push(node.response.status);
      save(node);
    };
    const { outcome, frames } = await run(store);
    expect(saved).toEqual(['completed']);
    expect(frames.at(-1)?.type).toBe('response.completed');
    expect(store.load('t', outcome.response.id)).toBeDefined();
  });

  it('that cannot be committed ends as failed, with what was written and one terminal event', async () => {
    const { outcome, frames } = await run(new BrokenStore(1_000_000));
    const terminal = frames.filter(({ type }) => /completed|failed|incomplete/.test(type));
    expect(terminal.map(({ type }) => type)).toEqual(['response.failed']);
    expect(frames.at(-1)).toBe(terminal[0]);
    expect(outcome.response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(outcome.response.output).toHaveLength(1);
    expect(JSON.stringify(frames)).not.toContain('disk');
    expect(outcome.failure?.code).toBe('server_error');
  });

  it('that failed is stored as it ended, and its id is none to go on from', async () => {
    const store = new MemoryResponseStore(1_000_000);
    const request = parseRequest({ model: 'm', input: 'x' }, 'http');
    const down: EngineClient = {
      ...engine,
      generate: () => {
        throw new ApiError('engine_unavailable');
      },
    };
    const { outcome, frames } = await run(store, { request }, down);
    expect(outcome.response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(frames.at(-1)?.type).toBe('response.failed');
    expect(store.find('t', outcome.response.id)?.response).toEqual(outcome.response);
    expect(store.find('t', outcome.response.id)?.input).toHaveLength(1);
    const previousResponseId = outcome.response.id;
    await expect(run(store, { request: { ...request, previousResponseId } })).rejects.toMatchObject({
      code: 'previous_response_not_found',
    });
    const unstored = await run(store, { request: { ...request, store: false } }, down);
    expect(store.find('t', unstored.outcome.response.id)).toBeUndefined();
  });
});

describe('a turn in the background', () => {
  it('goes on under the id, time and number of what was accepted, and is saved where that says', async () => {
    const store = new MemoryResponseStore(1_000_000);
    const { background, saved } = accepted();
    const { outcome, frames } = await run(store, { background });
    expect(outcome.response).toMatchObject({ id: 'resp_1', created_at: 1_764_000_000, status: 'completed' });
    expect(frames[0]?.type).toBe('response.in_progress');
    expect(frames[0]?.json).toContain('"sequence_number":2,');
    expect(saved.map(({ response }) => response)).toEqual([outcome.response]);
    expect(store.find('t', 'resp_1')).toBeUndefined();
  });

  it('that is cut off while it samples ends as it is told, with what there is', async () => {
    const { background, saved } = accepted();
    const cut = new AbortController();
    const sink = {
      send: (batch: readonly EventFrame[]) => {
        if (batch.some(({ type }) => type.endsWith('.delta'))) cut.abort();
      },
      ready: () => undefined,
    };
    const endless = { ...engine, generate: samplesUntil };
    const { outcome } = await run(
      new MemoryResponseStore(1_000_000),
      { background, signal: cut.signal, sink },
      endless,
    );
    expect(outcome.response).toMatchObject({
      status: 'cancelled',
      error: null,
      incomplete_details: null,
      output: [{ type: 'message', status: 'incomplete' }],
    });
    expect(saved.map(({ response }) => response)).toEqual([outcome.response]);
  });
});
