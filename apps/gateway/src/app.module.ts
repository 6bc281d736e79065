import { Module, type DynamicModule } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import { ResumeWindow } from '@turnpike/conversation';
import { ImageFetcher, ImageLoader, ImagesStage } from '@turnpike/images';
import { RenderingStage } from '@turnpike/rendering';
import { CatalogueRouter, Routing, RoutingStage, type RouterStrategy } from '@turnpike/routing';
import { SafetyModule, SafetyStage } from '@turnpike/safety';
import { loadSealingKeys, Sealer } from '@turnpike/sealing';
import { ValidationStage } from '@turnpike/validation';
import { BackgroundRunner } from './background/background-runner.js';
import { BackgroundService } from './background/background.service.js';
import { Changes } from './background/changes.js';
import { ConfigError } from './config/load.js';
import type { Config } from './config/schema.js';
import { Engines } from './engines.js';
import { Formats } from './formats.js';
import { CompactController } from './http/compact.controller.js';
import { AddedItems } from './http/added-items.js';
import { ConversationItemsController } from './http/conversation-items.controller.js';
import { ConversationsController } from './http/conversations.controller.js';
import { HealthController } from './http/health.controller.js';
import { InputTokensController } from './http/input-tokens.controller.js';
import { ModelsController } from './http/models.controller.js';
import { ResponsesController } from './http/responses.controller.js';
import { StoredResponsesController } from './http/stored-responses.controller.js';
import { shownError } from './log.js';
import { safetyProviders } from './safety/safety.providers.js';
import { stageList } from './stages.js';
import { storeProviders } from './stores.js';
import { CONFIG, ROUTER, STAGE_LIST } from './tokens.js';
import { TurnService } from './turn/turn.service.js';
import { ResponsesGateway } from './websocket/responses.gateway.js';

/** The front door, wired from its configuration. */
@Module({})
export class AppModule {
  /** @param safety of one's own classifier: `SafetyModule.register({ classifier: MyClassifier })` */
  static register(config: Config, safety: DynamicModule = SafetyModule.register()): DynamicModule {
    return {
      module: AppModule,
      imports: [safety],
      controllers: [
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
        { provide: KeyRing, useFactory: () => new KeyRing(config.keys) },
        ...storeProviders,
        ...safetyProviders,
        Changes,
        BackgroundRunner,
        BackgroundService,
        { provide: Sealer, useFactory: () => sealerOf(config) },
        {
          provide: ResumeWindow,
          useFactory: () =>
            new ResumeWindow({ windowMs: config.limits.resumeMs, bytes: config.limits.resumeBytes }),
        },
        Formats,
        Engines,
        {
          provide: ROUTER,
          inject: [Engines, Formats],
          useFactory: (engines: Engines, formats: Formats) => routerOf(config, engines, formats),
        },
        { provide: ImageLoader, useFactory: () => imageLoaderOf(config) },
        {
          provide: STAGE_LIST,
          inject: [ROUTER, Formats, ImageLoader, SafetyStage],
          useFactory: (router: RouterStrategy, formats: Formats, loader: ImageLoader, safety: SafetyStage) =>
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
            }),
        },
        TurnService,
        AddedItems,
        ResponsesGateway,
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

function routerOf(config: Config, engines: Engines, formats: Formats): RouterStrategy {
  return new CatalogueRouter(
    Object.entries(config.models).map(([model, { engine, engineModel, format, contextTokens, images }]) => {
      const client = engines.get(engine);
      return {
        model,
        engineModel: engineModel ?? model,
        format: formats.get(format),
        contextTokens,
        engine: client,
        images: client.takesImages === true ? images : undefined,
      };
    }),
  );
}
