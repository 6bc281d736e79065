import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { ResumeWindow } from '@turnpike/conversation';
import { ImageFetcher, ImageLoader, ImagesStage } from '@turnpike/images';
import { RenderingStage } from '@turnpike/rendering';
import { Routing, RoutingStage, type RouterStrategy } from '@turnpike/routing';
import { SafetyModule, SafetyStage } from '@turnpike/safety';
import { loadSealingKeys, Sealer } from '@turnpike/sealing';
import { ValidationStage } from '@turnpike/validation';
import { accessProviders } from './access.js';
import { billingProviders, type MeteredTurns } from './billing/billing.js';
import { HoldStage } from './billing/hold.stage.js';
import { BackgroundRunner } from './background/background-runner.js';
import { BackgroundService } from './background/background.service.js';
import { Changes } from './background/changes.js';
import { ConfigError } from './config/load.js';
import type { Config } from './config/schema.js';
import { Engines } from './engines.js';
import { Formats } from './formats.js';
import { AdminController } from './http/admin.controller.js';
import { CompactController } from './http/compact.controller.js';
import { AddedItems } from './http/added-items.js';
import { ConversationItemsController } from './http/conversation-items.controller.js';
import { ConversationsController } from './http/conversations.controller.js';
import { HealthController } from './http/health.controller.js';
import { InputTokensController } from './http/input-tokens.controller.js';
import { ModelsController } from './http/models.controller.js';
import { IdempotentAnswers } from './http/idempotency.js';
import { ResponsesController } from './http/responses.controller.js';
import { StoredResponsesController } from './http/stored-responses.controller.js';
import { shownError } from './log.js';
import { ModelCatalogue } from './routing/model-catalogue.js';
import { safetyProviders } from './safety/safety.providers.js';
import { stageList } from './stages.js';
import { storeProviders } from './stores.js';
import { CONFIG, METERED_TURNS, ROUTER, STAGE_LIST } from './tokens.js';
import { TurnService } from './turn/turn.service.js';
import { ResponsesGateway } from './websocket/responses.gateway.js';

/** The front door, wired from its configuration. */
@Module({})
export class AppModule {
  /**
   * @param own providers that take the place of those with the same token, as a router of your own does
   * @param safety a classifier of your own: `SafetyModule.register({ classifier: MyClassifier })`
   */
  static register(
    config: Config,
    own: readonly Provider[] = [],
    safety: DynamicModule = SafetyModule.register(),
  ): DynamicModule {
    return {
      module: AppModule,
      imports: [safety],
      controllers: [
        AdminController,
        CompactController,
        InputTokensController,
        ResponsesController,
        StoredResponsesController,
        ConversationsController,
        ConversationItemsController,
        ModelsController,
        HealthController,
      ],
      providers: [
        { provide: CONFIG, useValue: config },
        ...storeProviders,
        ...safetyProviders,
        ...accessProviders,
        ...billingProviders,
        Changes,
        BackgroundRunner,
        BackgroundService,
        { provide: IdempotentAnswers, useFactory: () => new IdempotentAnswers() },
        { provide: Sealer, useFactory: () => sealerOf(config) },
        {
          provide: ResumeWindow,
          useFactory: () =>
            new ResumeWindow({ windowMs: config.limits.resumeMs, bytes: config.limits.resumeBytes }),
        },
        Formats,
        Engines,
        ModelCatalogue,
        {
          provide: ROUTER,
          inject: [ModelCatalogue],
          useFactory: (catalogue: ModelCatalogue) => catalogue.router,
        },
        { provide: ImageLoader, useFactory: () => imageLoaderOf(config) },
        {
          provide: STAGE_LIST,
          inject: [ROUTER, Formats, ImageLoader, SafetyStage, METERED_TURNS],
          useFactory: (
            router: RouterStrategy,
            formats: Formats,
            loader: ImageLoader,
            safety: SafetyStage,
            turns: MeteredTurns,
          ) =>
            stageList({
              validation: new ValidationStage(),
              routing: new RoutingStage(router),
              images: new ImagesStage({ routeToken: Routing, loader }),
              safety,
              rendering: new RenderingStage({
                formatToken: Routing,
                encoder: (format) => formats.encoder(format),
                today: () => new Date().toISOString().slice(0, 10),
              }),
              hold: new HoldStage(turns),
            }),
        },
        TurnService,
        AddedItems,
        ResponsesGateway,
        ...own,
      ],
    };
  }
}

/** @throws ConfigError when the file of the sealing keys cannot be used */
function sealerOf({ sealingKeyFile }: Config): Sealer {
  try {
    return new Sealer(loadSealingKeys(sealingKeyFile));
  } catch (thrown) {
    throw new ConfigError(`The sealing keys cannot be used: ${shownError(thrown).message}`);
  }
}

function imageLoaderOf({ images: { fetch, maxBytes, ...options } }: Config): ImageLoader {
  return new ImageLoader({ maxBytes, fetcher: fetch ? new ImageFetcher(options) : undefined });
}
