import { type IncomingMessage, type ServerResponse } from 'node:http';
import { Controller, Get, Header, Inject, Post, Req, Res } from '@nestjs/common';
import { COMPLETIONS, type Completions } from './completions.js';
import { errorBody, RequestError } from './http/errors.js';
import { readBody } from './http/read-body.js';
import { sendJson } from './http/sinks.js';
import { MODEL_CARD, type ModelCard } from './model-card.js';

/** The routes. Bodies and answers are plain node:http: nothing of the framework is on the way of a token. */
@Controller()
export class CompletionsController {
  private readonly startedAt = Math.floor(Date.now() / 1000);

  constructor(
    @Inject(MODEL_CARD) private readonly card: ModelCard,
    @Inject(COMPLETIONS) private readonly completions: Completions,
  ) {}

  @Post('v1/completions')
  async complete(@Req() request: IncomingMessage, @Res() response: ServerResponse): Promise<void> {
    try {
      const body = await readBody(request);
      // A client that has left meanwhile closes nothing any more.
      if (!response.destroyed) this.completions.answer(body, response);
    } catch (error) {
      this.refuse(error, request, response);
    }
  }

  @Get('v1/models')
  models(): object {
    const { model, context } = this.card;
    const card = {
      id: model,
      object: 'model',
      created: this.startedAt,
      owned_by: 'turnpike',
      root: model,
      parent: null,
      max_model_len: context,
    };
    return { object: 'list', data: [card] };
  }

  @Get('health')
  health(): object {
    return { status: 'ok' };
  }

  @Get('debug/state')
  state(): object {
    return this.completions.stats.snapshot();
  }

  /** What each of the latest requests took, as a provider would bill it. */
  @Get('debug/usage.csv')
  @Header('content-type', 'text/csv; charset=utf-8')
  usage(): string {
    return this.completions.stats.statement();
  }

  /** Which bytes of their connections hold which tokens of the latest streamed answers. */
  @Get('debug/writes')
  writes(): object {
    return this.completions.stats.written.snapshot();
  }

  private refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    this.completions.stats.rejected++;
    const refused = error instanceof RequestError ? error : new RequestError(500, 'internal error');
    if (!request.complete) {
      // The rest of the body is read and thrown away, so that the client gets to read the answer.
      response.setHeader('connection', 'close');
      request.resume();
    }
    sendJson(response, refused.status, errorBody(refused.status, refused.message, refused.param));
  }
}
