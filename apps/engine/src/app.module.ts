import { type DynamicModule, Module } from '@nestjs/common';
import { CompletionsController } from './completions.controller.js';
import { CompletionsService } from './completions.service.js';
import { SimulatedModel } from './model/simulated-model.js';
import { type Scheduler, SCHEDULER } from './pacing.js';
import { type EngineSettings, SETTINGS } from './settings.js';

@Module({})
export class AppModule {
  /** The engine with these settings, this model and this idea of time. */
  static register(settings: EngineSettings, model: SimulatedModel, scheduler: Scheduler): DynamicModule {
    return {
      module: AppModule,
      controllers: [CompletionsController],
      providers: [
        { provide: SETTINGS, useValue: settings },
        { provide: SCHEDULER, useValue: scheduler },
        { provide: SimulatedModel, useValue: model },
        {
          provide: CompletionsService,
          useFactory: (...given: ConstructorParameters<typeof CompletionsService>) =>
            new CompletionsService(...given),
          inject: [SETTINGS, SimulatedModel, SCHEDULER],
        },
      ],
    };
  }
}
