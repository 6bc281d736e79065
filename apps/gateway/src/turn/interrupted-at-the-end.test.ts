import { describe, expect, it } from '@jest/globals';
import { ConnectionCache, MemoryConversationStore, MemoryResponseStore } from '@turnpike/conversation';
import type { EngineClient } from '@turnpike/inference';
import { ApiError, parseRequest, type EventFrame } from '@turnpike/protocol';
import { ANSWER, BEGINNING } from '../../testing/engine-service.js';
import { routerTo, testTurnService } from '../../testing/turn-service.js';
import type { ResponseControl } from './response-control.js';

/** Steps of the event loop's queue behind the end of an engine's answer within which a turn has ended. */
const STEPS = 40;

/** Runs a turn, with something done to it so many steps behind the end of its engine's answer. */
async function ending(dies: boolean, steps: number, act: (control: ResponseControl) => void) {
  let control: ResponseControl | undefined;
  let acted: Promise<unknown> | undefined;
  const later = async () => {
    for (let step = 0; step < steps; step++) await Promise.resolve();
    if (control !== undefined) act(control);
  };
  const engine: EngineClient = {
    name: 'fake',
    capabilities: () => Promise.reject(new Error('not asked here')),
    async *generate() {
      yield dies ? BEGINNING : ANSWER;
      acted = later().catch((thrown: unknown) => thrown);
      if (dies) throw new ApiError('engine_error');
    },
    close: () => Promise.resolve(),
  };
  const service = testTurnService({
    responses: new MemoryResponseStore(1_000_000),
    conversations: new MemoryConversationStore(1_000),
    router: routerTo(engine),
  });
  const frames: EventFrame[] = [];
  const { response, steers } = await service.run({
    request: parseRequest({ model: 'm', input: 'x' }, 'websocket'),
    tenant: 't',
    key: 'k',
    sink: { send: (batch) => void frames.push(...batch), ready: () => undefined },
    signal: new AbortController().signal,
    connection: {
      cache: new ConnectionCache('t', 1_000_000),
      lane: undefined,
      lost: { load: () => undefined },
      onBegin: (_, begun) => (control = begun),
    },
  });
  const refusal = await acted;
  return { response, types: frames.map(({ type }) => type), refusal, steers };
}

const TERMINAL = /^response\.(completed|incomplete|failed)$/;

describe.each([
  ['dies', true, 'response.failed'],
  ['has answered', false, 'response.completed'],
])('a response whose engine %s', (_, dies, usual) => {
  it('ends as interrupted when its client was told so, and as it is otherwise', async () => {
    const seen = new Set<boolean>();
    for (let steps = 0; steps < STEPS; steps++) {
      const { types, refusal, response } = await ending(dies, steps, (control) => control.interrupt());
      const accepted = types.includes('response.interrupt.accepted');
      seen.add(accepted);
      expect(types.filter((type) => TERMINAL.test(type))).toEqual([accepted ? 'response.incomplete' : usual]);
      expect(types.at(-1)).toMatch(TERMINAL);
      if (accepted) expect(response.incomplete_details).toEqual({ reason: 'interrupted' });
      else expect(refusal).toMatchObject({ code: 'response_already_completed' });
      expect(response.usage?.output_tokens).toBe((dies ? BEGINNING : ANSWER).ids.length);
    }
    expect(seen).toEqual(new Set([true, false]));
  });

  it('keeps what it was steered with for what follows, up to its last event', async () => {
    const content = [{ type: 'input_text' as const, text: 'two' }];
    const items = [{ type: 'message' as const, role: 'user' as const, content }];
    for (let steps = 0; steps < STEPS; steps++) {
      const { types, steers } = await ending(dies, steps, (control) => control.steer(items));
      expect(types.filter((type) => type === 'response.steer.accepted')).toHaveLength(steers.length);
      expect(types.filter((type) => TERMINAL.test(type))).toEqual([usual]);
      expect(types.at(-1)).toBe(usual);
    }
  });
});
