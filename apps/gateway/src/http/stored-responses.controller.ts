import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import type { ResponseStore } from '@turnpike/conversation';
import { ApiError, checkInclude, quotable } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { BackgroundService } from '../background/background.service.js';
import type { Config } from '../config/schema.js';
import { CONFIG, STORE } from '../tokens.js';
import { ResponsesGateway } from '../websocket/responses.gateway.js';
import { answerWithEvents } from './background-stream.js';
import { IdempotentAnswers } from './idempotency.js';
import { pageOf, parsePageQuery } from './page.js';
import { queryFlag } from './query-flag.js';

type QueryParameters = Record<string, unknown>;

/** What can be done with a stored response. Another tenant's id is as unknown as one that never was. */
@Controller(['v1/responses', 'responses'])
export class StoredResponsesController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(STORE) private readonly store: ResponseStore,
    @Inject(BackgroundService) private readonly background: BackgroundService,
    @Inject(ResponsesGateway) private readonly connections: ResponsesGateway,
    @Inject(IdempotentAnswers) private readonly answers: IdempotentAnswers,
  ) {}

  /** Includes everything there is, whatever `include` names of what there can be; there is no obfuscation, whatever is said of it. */
  @Get(':id')
  async retrieve(
    @Param('id') id: string,
    @Query() query: QueryParameters,
    @Req() request: Request,
    @Res() answer: Response,
  ): Promise<void> {
    const { tenant } = await this.keys.authenticate(request);
    checkInclude(query);
    if (queryFlag(query, 'stream')) return this.#stream(tenant, id, query['starting_after'], answer);
    const response =
      (await this.store.find(tenant, id))?.response ??
      (await this.background.unfinished(tenant, id)) ??
      // It may have ended between the two.
      (await this.store.find(tenant, id))?.response;
    if (response === undefined) throw unknown(id);
    answer.json(response);
  }

  @Delete(':id')
  async delete(@Param('id') id: string, @Req() request: Request) {
    const { tenant } = await this.keys.authenticate(request);
    // The job first: what is made without one is not stored.
    const wasJob = await this.background.delete(tenant, id);
    const wasStored = await this.store.delete(tenant, id);
    if (!wasJob && !wasStored) throw unknown(id);
    this.connections.forget(tenant, id);
    this.answers.forget(tenant, id);
    return { id, object: 'response', deleted: true };
  }

  /** Ends a background response; one that has ended is returned as it is. */
  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(@Param('id') id: string, @Req() request: Request) {
    const { tenant } = await this.keys.authenticate(request);
    const response = await this.background.cancel(tenant, id);
    if (response === undefined) throw unknown(id);
    return response;
  }

  /** The items that the response's own request brought, not those before it in the chain. */
  @Get(':id/input_items')
  async inputItems(@Param('id') id: string, @Query() query: QueryParameters, @Req() request: Request) {
    const { tenant } = await this.keys.authenticate(request);
    const pageQuery = parsePageQuery(query);
    checkInclude(query);
    const input =
      (await this.store.find(tenant, id))?.input ??
      (await this.background.inputOfUnfinished(tenant, id)) ??
      (await this.store.find(tenant, id))?.input;
    if (input === undefined) throw unknown(id);
    return pageOf(input, pageQuery);
  }

  async #stream(tenant: string, id: string, startingAfter: unknown, answer: Response): Promise<void> {
    const after = parseStartingAfter(startingAfter);
    if (!(await this.background.canStream(tenant, id))) throw unknown(id);
    await answerWithEvents(answer, { tenant, id, after }, this.background, this.config.limits);
  }
}

/** The number of the last event that is not wanted; -1 when all are. */
function parseStartingAfter(value: unknown): number {
  if (value === undefined) return -1;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  const message = "'starting_after' must be the sequence number of an event.";
  throw new ApiError('invalid_value', { param: 'starting_after', message });
}

function unknown(id: string): ApiError {
  const message = `Response with id '${quotable(id)}' not found.`;
  return new ApiError('response_not_found', { param: 'response_id', message });
}
