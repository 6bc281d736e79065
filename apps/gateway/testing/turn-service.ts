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

/** What these services seal with. */
export const sealer = new Sealer([Buffer.alloc(32, 1)]);

interface Parts {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly router: CatalogueRouter;
  readonly metering?: Pick<ReturnType<typeof memoryMeter>, 'meter' | 'hold'>;
  readonly encoder?: Pick<TokenEncoder, 'encodeAll'>;
}

/** One Harmony model `m`, of 100,000 tokens. */
export function routerTo(engine: EngineClient): CatalogueRouter {
  return new CatalogueRouter([
    { model: 'm', engineModel: 'm', format: harmony(), contextTokens: 100_000, engine },
  ]);
}

/** The stages as the gateway has them, with nothing outside this process. */
export function testTurnService({ responses, conversations, router, metering, encoder }: Parts): TurnService {
  const encodes = encoder ?? new TokenEncoder(harmony().tokenizer);
  const { safety, gate } = testSafety();
  const { meter, hold } = metering ?? memoryMeter();
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
  const config = configSchema.parse({});
  return new TurnService(stages, responses, conversations, sealer, gate, meter, config, router);
}
