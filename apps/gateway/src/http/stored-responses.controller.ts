import { Controller, Delete, Get, Headers, Inject, Param, Query, Res } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import type { ResponseStore, StoredResponse } from '@turnpike/conversation';
import { ApiError, quotable } from '@turnpike/protocol';
import type { Response } from 'express';
import { STORE } from '../tokens.js';
import { pageOf, parsePageQuery } from './page.js';
import { identify } from './request-id.js';

type QueryParameters = Record<string, unknown>;

/** What can be done with a stored response. Another tenant's id is as unknown as one that never was. */
@Controller(['v1/responses', 'responses'])
export class StoredResponsesController {
  constructor(
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(STORE) private readonly store: ResponseStore,
  ) {}

  /** Includes everything there is, whatever `include` names. */
  @Get(':id')
  async retrieve(
    @Param('id') id: string,
    @Query() query: QueryParameters,
    @Res({ passthrough: true }) answer: Response,
    @Headers('authorization') authorization?: string,
  ) {
    const { tenant } = this.keys.authenticate(authorization);
    if (query['stream'] === 'true') {
      const message = 'Only a background response can be streamed once more, and this server has none.';
      throw new ApiError('unsupported_parameter', { param: 'stream', message });
    }
    identify(answer);
    return (await this.#find(tenant, id)).response;
  }

  @Delete(':id')
  async delete(
    @Param('id') id: string,
    @Res({ passthrough: true }) answer: Response,
    @Headers('authorization') authorization?: string,
  ) {
    const { tenant } = this.keys.authenticate(authorization);
    if (!(await this.store.delete(tenant, id))) throw unknown(id);
    identify(answer);
    return { id, object: 'response', deleted: true };
  }

  /** The items that the response's own request brought, not those before it in the chain. */
  @Get(':id/input_items')
  async inputItems(
    @Param('id') id: string,
    @Query() query: QueryParameters,
    @Res({ passthrough: true }) answer: Response,
    @Headers('authorization') authorization?: string,
  ) {
    const { tenant } = this.keys.authenticate(authorization);
    const pageQuery = parsePageQuery(query);
    const { input } = await this.#find(tenant, id);
    identify(answer);
    return pageOf(input, pageQuery);
  }

  async #find(tenant: string, id: string): Promise<StoredResponse> {
    const found = await this.store.find(tenant, id);
    if (found === undefined) throw unknown(id);
    return found;
  }
}

function unknown(id: string): ApiError {
  const message = `Response with id '${quotable(id)}' not found.`;
  return new ApiError('response_not_found', { param: 'response_id', message });
}
