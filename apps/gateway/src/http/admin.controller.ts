import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { KeyRing, type AccessAdmin, type Listed, type PageOptions, type Principal } from '@turnpike/access';
import { ApiError, parseJson } from '@turnpike/protocol';
import type { Request } from 'express';
import { ACCESS_ADMIN } from '../tokens.js';
import { pageFrom, parsePageQuery } from './page.js';
import { readBody } from './read-body.js';

type QueryParameters = Record<string, unknown>;

/** What a key, with a list of models, may take. */
const BODY_BYTES = 256 * 1024;

/** Tenants, keys and budgets: docs/admin-api.md. */
@Controller('admin/v1')
export class AdminController {
  constructor(
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ACCESS_ADMIN) private readonly admin: AccessAdmin | undefined,
  ) {}

  @Get('tenants')
  tenants(@Req() request: Request, @Query() query: QueryParameters) {
    return this.#list(request, query, (admin, actor, page) => admin.tenants(actor, page));
  }

  @Post('tenants')
  @HttpCode(200)
  createTenant(@Req() request: Request) {
    return this.#change(request, (admin, actor, body) => admin.createTenant(actor, body));
  }

  @Get('keys')
  keys(@Req() request: Request, @Query() query: QueryParameters) {
    return this.#list(request, query, (admin, actor, page) => admin.keys(actor, page));
  }

  @Post('keys')
  @HttpCode(200)
  createKey(@Req() request: Request) {
    return this.#change(request, (admin, actor, body) => admin.createKey(actor, body));
  }

  @Get('keys/:id')
  async key(@Req() request: Request, @Param('id') id: string) {
    const { admin, actor } = await this.#actor(request);
    return admin.key(actor, id);
  }

  @Post('keys/:id')
  @HttpCode(200)
  changeKey(@Req() request: Request, @Param('id') id: string) {
    return this.#change(request, (admin, actor, body) => admin.changeKey(actor, id, body));
  }

  @Post('keys/:id/rotate')
  @HttpCode(200)
  rotateKey(@Req() request: Request, @Param('id') id: string) {
    return this.#change(request, (admin, actor, body) => admin.rotateKey(actor, id, body));
  }

  @Post('keys/:id/revoke')
  @HttpCode(200)
  revokeKey(@Req() request: Request, @Param('id') id: string) {
    return this.#change(request, (admin, actor) => admin.revokeKey(actor, id));
  }

  @Get('budgets')
  budgets(@Req() request: Request, @Query() query: QueryParameters) {
    return this.#list(request, query, (admin, actor, page) => admin.budgets(actor, page));
  }

  @Post('budgets')
  @HttpCode(200)
  createBudget(@Req() request: Request) {
    return this.#change(request, (admin, actor, body) => admin.createBudget(actor, body));
  }

  @Delete('budgets/:id')
  async deleteBudget(@Req() request: Request, @Param('id') id: string) {
    const { admin, actor } = await this.#actor(request);
    return admin.deleteBudget(actor, id);
  }

  async #change<Answer>(
    request: Request,
    change: (admin: AccessAdmin, actor: Principal, body: unknown) => Promise<Answer>,
  ): Promise<Answer> {
    const { admin, actor } = await this.#actor(request);
    const text = await readBody(request, BODY_BYTES);
    return change(admin, actor, text === '' ? {} : parseJson(text));
  }

  async #list<Entry extends { readonly id: string }>(
    request: Request,
    query: QueryParameters,
    list: (admin: AccessAdmin, actor: Principal, page: PageOptions) => Promise<Listed<Entry>>,
  ) {
    const { admin, actor } = await this.#actor(request);
    const { tenant } = query;
    if (tenant !== undefined && (typeof tenant !== 'string' || /\p{Cc}/u.test(tenant))) {
      throw new ApiError('invalid_value', { param: 'tenant', message: "'tenant' must be one id." });
    }
    const { entries, hasMore } = await list(admin, actor, { ...parsePageQuery(query), tenant });
    return pageFrom(entries, hasMore);
  }

  async #actor(request: Request): Promise<{ admin: AccessAdmin; actor: Principal }> {
    const actor = await this.keyRing.authenticate(request, 'admin');
    if (this.admin === undefined) {
      const message = "Keys cannot be kept here: 'store.kind' is 'memory'.";
      throw new ApiError('not_found', { message });
    }
    return { admin: this.admin, actor };
  }
}
