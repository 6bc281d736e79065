import { Controller, Get, Inject, Post, Req, Res, type BeforeApplicationShutdown } from '@nestjs/common';
import { KeyRing, type Principal } from '@turnpike/access';
import { ApiError, parseJson, type ResponseRequest } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { BackgroundService } from '../background/background.service.js';
import { CONFIG } from '../tokens.js';
import type { Config } from '../config/schema.js';
import { DISCARD } from '../turn/event-sink.js';
import { TurnService } from '../turn/turn.service.js';
import { answerWithEvents } from './background-stream.js';
import { readBody } from './read-body.js';
import { SseSink } from './sse-sink.js';

/** `POST /v1/responses`, as JSON or as server-sent events. */
@Controller(['v1/responses', 'responses'])
export class ResponsesController implements BeforeApplicationShutdown {
  /** What ends each turn that runs. */
  readonly #running = new Set<AbortController>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(TurnService) private readonly turns: TurnService,
    @Inject(BackgroundService) private readonly background: BackgroundService,
  ) {}

  @Post()
  async create(@Req() request: Request, @Res() response: Response): Promise<void> {
    const started = performance.now();
    const principal = await this.keys.authenticate(request);
    const gone = new AbortController();
    this.#running.add(gone);
    response.on('close', () => {
      this.#running.delete(gone);
      if (!response.writableFinished) gone.abort();
    });
    const body = parseJson(await readBody(request, this.config.limits.bodyBytes));
    const parsed = await this.turns.read(body, 'http', principal);
    response.set('openai-version', '2020-10-01');
    if (gone.signal.aborted) return;
    // What could be read is an object.
    if (parsed.background) return this.#createInBackground(body as object, parsed, principal, response);
    const sink = parsed.stream ? new SseSink(response, this.config.limits) : DISCARD;
    const { tenant, key } = principal;
    const outcome = await this.turns.run({ request: parsed, tenant, key, sink, signal: gone.signal });
    if (response.destroyed) return;
    if (parsed.stream) {
      response.end();
      return;
    }
    // Nothing has been said yet: a failure without any output is an HTTP error, as clients expect of a JSON answer.
    if (outcome.failure !== undefined && outcome.response.output.length === 0) throw outcome.failure;
    response.set('openai-processing-ms', String(Math.round(performance.now() - started)));
    response.status(200).json(outcome.response);
  }

  async #createInBackground(
    body: object,
    request: ResponseRequest,
    { tenant, key }: Principal,
    answer: Response,
  ): Promise<void> {
    const response = await this.background.accept(body, request, { tenant, key });
    if (!request.stream) return void answer.status(200).json(response);
    const { id } = response;
    await answerWithEvents(answer, { tenant, id, after: -1 }, this.background, this.config.limits);
  }

  /** Turns that still run at the deadline of a drain end as failed, so that their clients know. */
  beforeApplicationShutdown(): void {
    const stop = () => {
      for (const gone of this.#running) gone.abort(new ApiError('server_shutting_down', { retryAfter: 1 }));
    };
    setTimeout(stop, this.config.limits.drainMs).unref();
  }

  /** A WebSocket client whose upgrade got lost on the way, or a person with a browser. */
  @Get()
  explain(): never {
    throw new ApiError('upgrade_required', {
      message: 'GET on this address is for WebSocket upgrades; send requests with POST.',
    });
  }
}
