import type { ConversationStore, ResponseStore } from '@turnpike/conversation';
import { harmony, TokenEncoder } from '@turnpike/formats';
import { ImageLoader, ImagesStage } from '@turnpike/images';
import type { EngineClient } from '@turnpike/inference';
import { RenderingStage } from '@turnpike/rendering';
import { CatalogueRouter, Routing, RoutingStage } from '@turnpike/routing';
import { Sealer } from '@turnpike/sealing';
import { ValidationStage } from '@turnpike/validation';
import { configSchema } from '../src/config/schema.js';
import { stageList } from '../src/stages.js';
import { TurnService } from '../src/turn/turn.service.js';
import { memoryMeter } from './metering.js';
import { testSafety } from './safety.js';

interface Parts {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  /** Serves the one model, `m`. */
  readonly engine: EngineClient;
  readonly encoder?: Pick<TokenEncoder, 'encodeAll'>;
}

/** The stages as the gateway has them, with a Harmony model of 100,000 tokens and nothing outside this process. */
export function testTurnService({ responses, conversations, engine, encoder }: Parts): TurnService {
  const format = harmony();
  const encodes = encoder ?? new TokenEncoder(format.tokenizer);
  const router = new CatalogueRouter([
    { model: 'm', engineModel: 'm', format, contextTokens: 100_000, engine },
  ]);
  const { safety, gate } = testSafety();
  const { meter, hold } = memoryMeter();
  const stages = stageList({
    validation: new ValidationStage(),
    routing: new RoutingStage(router),
    images: new ImagesStage({ routeToken: Routing, loader: new ImageLoader({ maxBytes: 1_000_000 }) }),
    safety,
    rendering: new RenderingStage({
      formatToken: Routing,
      encoder: () => encodes,
      today: () => '2026-01-31',
    }),
    hold,
  });
  const sealer = new Sealer([Buffer.alloc(32, 1)]);
  const config = configSchema.parse({});
  return new TurnService(stages, responses, conversations, sealer, gate, meter, config, router);
}
