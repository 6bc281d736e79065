import { KeyRing } from '@turnpike/access';
import { MemoryBackgroundJobs, type ClaimedJob } from '@turnpike/background';
import { MemoryResponseStore } from '@turnpike/conversation';
import { describe, expect, it, jest } from '@jest/globals';
import { ApiError, newResponse, parseRequest, type ResponseStatus } from '@turnpike/protocol';
import { overNode } from '../turn/commit.js';
import type { TurnInput, TurnOutcome } from '../turn/turn-input.js';
import { BackgroundRun, type BackgroundRunParts } from './background-run.js';
import { Changes } from './changes.js';

const BODY = { model: 'm', background: true, input: [{ role: 'user', content: 'hi', id: 'msg_1' }] };
const REQUEST = parseRequest(BODY, 'http');

/** A queue that can be made to fail. */
class Jobs extends MemoryBackgroundJobs {
  failures = 0;

  override end(...args: Parameters<MemoryBackgroundJobs['end']>): Promise<boolean> {
    if (this.failures-- > 0) return Promise.reject(new Error('down'));
    return super.end(...args);
  }
}

/** A job that is run by `turn`, and its queue and store. */
async function setUp(
  turn: (input: TurnInput) => Promise<TurnOutcome>,
  keys: BackgroundRunParts['keys'] = {
    holderOf: (tenant, key) => ({ tenant, key, scopes: ['inference'] }),
  },
) {
  const store = new MemoryResponseStore(1_000_000);
  const jobs = new Jobs(store, 1_000_000);
  const response = { ...newResponse('resp_1', REQUEST, 1_764_000_000), status: 'queued' as const };
  await jobs.enqueue(
    { id: 'resp_1', tenant: 't', key: 'k', request: JSON.stringify(BODY), response, events: undefined },
    10,
  );
  const [job] = (await jobs.claim('me', 1)) as [ClaimedJob];
  const turns = { read: () => Promise.resolve(REQUEST), run: turn };
  const start = () =>
    new BackgroundRun(job, { jobs, turns, keys, changes: new Changes(), runner: 'me', eventBytes: 1_000 });
  return { store, jobs, start };
}

/** Ends the response like this, as the turn does. */
async function end({ background, tenant }: TurnInput, status: ResponseStatus): Promise<TurnOutcome> {
  const response = { ...newResponse('resp_1', REQUEST, background?.createdAt ?? 0), status };
  await background?.save(overNode({ response, tenant, input: [] }));
  return { response, steers: [], waiting: [] };
}

/** A turn that does not end by itself. */
async function untilCut(input: TurnInput): Promise<TurnOutcome> {
  await new Promise((resolve) => input.signal.addEventListener('abort', resolve));
  return end(input, input.background?.cutOff().status ?? 'completed');
}

describe('a background response', () => {
  it('is the turn’s, under the id and time of its acceptance', async () => {
    const { store, jobs, start } = await setUp((input) => {
      expect(input).toMatchObject({ tenant: 't', key: 'k', request: REQUEST, background: { id: 'resp_1' } });
      return end(input, 'completed');
    });
    await start().done;
    expect(store.find('t', 'resp_1')?.response).toMatchObject({
      status: 'completed',
      created_at: 1_764_000_000,
    });
    expect((await jobs.find('t', 'resp_1'))?.status).toBe('ended');
  });

  it('is kept as failed, with its input, when the turn fails before anything', async () => {
    const { store, start } = await setUp(() => {
      throw new ApiError('previous_response_not_found');
    });
    await start().done;
    expect(store.find('t', 'resp_1')).toMatchObject({
      response: {
        status: 'failed',
        error: { code: 'invalid_prompt', message: 'Previous response not found.' },
      },
      input: [{ id: 'msg_1' }],
    });
  });

  it('does not run for a key that was revoked while it waited', async () => {
    const run = jest.fn<(input: TurnInput) => Promise<TurnOutcome>>();
    const keys = new KeyRing([{ name: 'other', tenant: 't', sha256: '0'.repeat(64) }]);
    const { store, jobs, start } = await setUp(run, keys);
    await start().done;
    expect(run).not.toHaveBeenCalled();
    expect(store.find('t', 'resp_1')?.response).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_api_key', message: expect.stringContaining('not valid any more') },
    });
    expect((await jobs.find('t', 'resp_1'))?.status).toBe('ended');
  });

  it('waits for a database that fails', async () => {
    const { store, jobs, start } = await setUp((input) => end(input, 'completed'));
    jobs.failures = 1;
    await start().done;
    expect(store.find('t', 'resp_1')?.response.status).toBe('completed');
  });
});

describe('a response that is cut off', () => {
  it.each([
    ['cancelled', { status: 'cancelled' }],
    ['restart', { status: 'failed' }],
  ] as const)('%s, ends accordingly', async (why, expected) => {
    const { store, start } = await setUp(untilCut);
    const run = start();
    // The turn has begun when what was ready has run.
    await new Promise((resolve) => setImmediate(resolve));
    run.cut(why);
    run.cut('lost');
    await run.done;
    expect(store.find('t', 'resp_1')?.response).toMatchObject(expected);
  });

  it('ends accordingly too when the turn had not begun', async () => {
    const { store, start } = await setUp(({ signal }) => {
      signal.throwIfAborted();
      throw new Error('it had not been cut off');
    });
    const run = start();
    run.cut('cancelled');
    await run.done;
    expect(store.find('t', 'resp_1')?.response).toMatchObject({ status: 'cancelled', error: null });
  });

  it('is not ended by one that has lost it', async () => {
    const { store, jobs, start } = await setUp(untilCut);
    const run = start();
    await new Promise((resolve) => setImmediate(resolve));
    run.cut('lost');
    await run.done;
    expect(store.find('t', 'resp_1')).toBeUndefined();
    expect((await jobs.find('t', 'resp_1'))?.status).toBe('in_progress');
  });

  it('is left to its lease when it cannot be ended', async () => {
    const { jobs, start } = await setUp(untilCut);
    jobs.failures = Number.POSITIVE_INFINITY;
    const run = start();
    await new Promise((resolve) => setImmediate(resolve));
    run.abandon();
    await run.done;
    expect((await jobs.find('t', 'resp_1'))?.status).toBe('in_progress');
  });
});
