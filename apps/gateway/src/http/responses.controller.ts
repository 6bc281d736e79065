import { Controller, Get, Inject, Post, Req, Res, type BeforeApplicationShutdown } from '@nestjs/common';
import { KeyRing, type Principal } from '@turnpike/access';
import { ApiError, parseJson, type ResponseRequest } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { BackgroundService } from '../background/background.service.js';
import { CONFIG } from '../tokens.js';
import type { Config } from '../config/schema.js';
import { DISCARD } from '../turn/event-sink.js';
import { TurnService } from '../turn/turn.service.js';
import { log } from '../log.js';
import { answerWithEvents } from './background-stream.js';
import { requestIdOf, sendError } from './error.filter.js';
import { idempotencyKeyOf, IdempotentAnswers, type KeptAnswer } from './idempotency.js';
import { readBody } from './read-body.js';
import { RecordingSink } from './recording-sink.js';
import { processingTime, SseSink } from './sse-sink.js';

/** A request that was read, and where its answer goes. */
interface Asked {
  /** On the clock of `performance`. */
  readonly started: number;
  readonly principal: Principal;
  readonly body: object;
  readonly parsed: ResponseRequest;
  readonly response: Response;
  /** Ends the turn. */
  readonly gone: AbortSignal;
}

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
    @Inject(IdempotentAnswers) private readonly answers: IdempotentAnswers,
  ) {}

  @Post()
  async create(@Req() request: Request, @Res() response: Response): Promise<void> {
    const started = performance.now();
    const principal = await this.keys.authenticate(request);
    const key = idempotencyKeyOf(request);
    const gone = new AbortController();
    this.#running.add(gone);
    response.on('close', () => {
      // Who sends a key comes back for the answer.
      if (key !== undefined) return;
      this.#running.delete(gone);
      if (!response.writableFinished) gone.abort();
    });
    const text = await readBody(request, this.config.limits.bodyBytes);
    const body = parseJson(text);
    const parsed = await this.turns.read(body, 'http', principal);
    response.set('openai-version', '2020-10-01');
    if (gone.signal.aborted) return;
    // What could be read is an object.
    const asked: Asked = { started, principal, body: body as object, parsed, response, gone: gone.signal };
    if (key === undefined) return void (await this.#answer(asked));
    try {
      await this.#answerOnce(asked, key, text);
    } finally {
      this.#running.delete(gone);
    }
  }

  /** The first request with a key is answered; every other one gets the same answer. */
  async #answerOnce(asked: Asked, key: string, text: string): Promise<void> {
    const { principal, parsed, response } = asked;
    const claimed = await this.answers.claim(principal.tenant, key, text);
    if ('kind' in claimed) return this.#answerAgain(claimed, principal.tenant, parsed, response);
    try {
      await this.#answer(asked, (answer) => claimed.keep(answer));
    } finally {
      claimed.release();
    }
  }

  async #answerAgain(
    answer: KeptAnswer,
    tenant: string,
    { stream }: ResponseRequest,
    response: Response,
  ): Promise<void> {
    response.set('idempotent-replayed', 'true');
    const { limits } = this.config;
    if (answer.kind === 'events') new SseSink(response, limits).sendText(answer.text);
    else if (answer.kind === 'json') response.status(200).type('json').send(answer.text);
    else if (stream)
      await answerWithEvents(response, { tenant, id: answer.id, after: -1 }, this.background, limits);
  }

  /** @param keep told of the answer of a request with a key, before its client is told that it has ended */
  async #answer(asked: Asked, keep?: (answer: KeptAnswer) => void): Promise<void> {
    const { started, principal, parsed, response, gone } = asked;
    if (parsed.background) return this.#createInBackground(asked, keep);
    const events = parsed.stream ? new SseSink(response, this.config.limits, started) : DISCARD;
    const recording = keep && new RecordingSink(events);
    const sink = recording ?? events;
    const { tenant, key } = principal;
    const outcome = await this.turns.run({ request: parsed, tenant, key, sink, signal: gone });
    const { id } = outcome.response;
    const { failure } = outcome;
    const isNothing = failure !== undefined && outcome.response.output.length === 0;
    if (parsed.stream) {
      if (recording !== undefined && !isNothing) keep?.({ kind: 'events', id, text: recording.text });
      if (!response.destroyed) response.end();
      return;
    }
    // Nothing has been said yet: a failure without any output is an HTTP error, as clients expect of a JSON answer.
    if (isNothing) {
      if (response.destroyed) return;
      // The turn has logged what failed, by the id of a response that this client never sees.
      log.info({ request: requestIdOf(response), response: id }, 'answered with an error');
      return sendError(failure, response);
    }
    keep?.({ kind: 'json', id, text: JSON.stringify(outcome.response) });
    if (response.destroyed) return;
    response.set(processingTime(started)).status(200).json(outcome.response);
  }

  async #createInBackground(asked: Asked, keep?: (answer: KeptAnswer) => void): Promise<void> {
    const { started, body, parsed, principal, response: answer } = asked;
    const { tenant, key } = principal;
    const response = await this.background.accept(body, parsed, { tenant, key });
    const { id } = response;
    if (!parsed.stream) {
      keep?.({ kind: 'json', id, text: JSON.stringify(response) });
      return void answer.set(processingTime(started)).status(200).json(response);
    }
    keep?.({ kind: 'background', id });
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
