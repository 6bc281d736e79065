import { describe, expect, it } from '@jest/globals';
import { MemoryConversationStore, MemoryResponseStore, type ResponseNode } from '@turnpike/conversation';
import { harmony, TokenEncoder } from '@turnpike/formats';
import { ImageLoader, ImagesStage } from '@turnpike/images';
import type { EngineClient } from '@turnpike/inference';
import { parseRequest, type EventFrame } from '@turnpike/protocol';
import { RenderingStage } from '@turnpike/rendering';
import { CatalogueRouter, Routing, RoutingStage } from '@turnpike/routing';
import { Sealer } from '@turnpike/sealing';
import { ValidationStage } from '@turnpike/validation';
import { configSchema } from '../config/schema.js';
import { stageList } from '../stages.js';
import { TurnService } from './turn.service.js';

const format = harmony();
const encoder = new TokenEncoder(format.tokenizer);

/** An engine that answers "hi". */
const engine: EngineClient = {
  name: 'fake',
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

class BrokenStore extends MemoryResponseStore {
  override save(_node: ResponseNode): void {
    throw new Error('the disk is full');
  }
}

function service(store: MemoryResponseStore): TurnService {
  const router = new CatalogueRouter([
    { model: 'm', engineModel: 'm', format, contextTokens: 10_000, engine },
  ]);
  const stages = stageList({
    validation: new ValidationStage(),
    routing: new RoutingStage(router),
    images: new ImagesStage({ routeToken: Routing, loader: new ImageLoader({ maxBytes: 1_000_000 }) }),
    rendering: new RenderingStage({
      formatToken: Routing,
      encoder: () => encoder,
      today: () => '2026-01-31',
    }),
  });
  const sealer = new Sealer([Buffer.alloc(32, 1)]);
  return new TurnService(
    stages,
    store,
    new MemoryConversationStore(1_000_000),
    sealer,
    configSchema.parse({}),
  );
}

async function run(store: MemoryResponseStore) {
  const frames: EventFrame[] = [];
  const outcome = await service(store).run({
    request: parseRequest({ model: 'm', input: 'x' }, 'http'),
    tenant: 't',
    sink: { send: (batch) => void frames.push(...batch), ready: () => undefined },
    signal: new AbortController().signal,
  });
  return { outcome, frames };
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
});
