import { type DynamicModule, Module } from '@nestjs/common';
import { COMPLETIONS, type Completions } from './completions.js';
import { CompletionsController } from './completions.controller.js';
import { MODEL_CARD, type ModelCard } from './model-card.js';

@Module({})
export class AppModule {
  /** The engine with this model, whatever it is. */
  static register(card: ModelCard, completions: Completions): DynamicModule {
    return {
      module: AppModule,
      controllers: [CompletionsController],
      providers: [
        { provide: MODEL_CARD, useValue: card },
        { provide: COMPLETIONS, useValue: completions },
      ],
    };
  }
}
