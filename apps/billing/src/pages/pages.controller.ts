import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { invoiceCsv } from '@turnpike/ledger';
import { ApiError } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { BillingQueries, type LetterState } from '../billing-queries.js';
import { Actors } from '../http/actors.js';
import { html } from '../http/html.js';
import { readForm } from '../http/read-text.js';
import { isOwnForm, type Session } from '../http/sessions.js';
import { HAS_QUEUE } from '../tokens.js';
import { parseInvoiceQuery, parseUsageQuery, usageCsv } from '../usage-query.js';
import { decisionBody, decisionFields } from './decision-page.js';
import { page, type PageOf } from './layout.js';
import { lettersBody } from './letters-page.js';
import { findForm, storyBody } from './story-page.js';
import { usageBody } from './usage-page.js';

type QueryParameters = Record<string, unknown>;

/** What people look at; programs have /billing/v1. */
@Controller()
export class PagesController {
  constructor(
    @Inject(Actors) private readonly actors: Actors,
    @Inject(BillingQueries) private readonly queries: BillingQueries,
    @Inject(HAS_QUEUE) private readonly hasQueue: boolean,
  ) {}

  @Get()
  async usage(@Req() request: Request, @Query() parameters: QueryParameters, @Res() answer: Response) {
    const { of, ...actor } = this.#actor(request);
    const query = parseUsageQuery(parameters, Date.now());
    const body = usageBody({
      query,
      sums: await this.queries.usage(actor, query),
      days: await this.queries.usage(actor, { ...query, by: ['day'] }),
      balances: await this.queries.balances(actor),
      openLetters: of.isOperator ? await this.queries.openLetters() : undefined,
    });
    answer.type('html').send(page('Usage', body, of));
  }

  @Get('usage.csv')
  async usageAsCsv(@Req() request: Request, @Query() parameters: QueryParameters, @Res() answer: Response) {
    const actor = this.#actor(request);
    const query = parseUsageQuery(parameters, Date.now());
    answer.attachment('usage.csv').type('text/csv; charset=utf-8');
    answer.send(usageCsv(query.by, await this.queries.usage(actor, query)));
  }

  @Get('invoice')
  async invoice(@Req() request: Request, @Query() parameters: QueryParameters, @Res() answer: Response) {
    const actor = this.#actor(request);
    const query = parseInvoiceQuery(parameters, Date.now(), actor.tenant);
    const invoice = await this.queries.invoice(actor, query);
    const name = `invoice-${query.from}-${query.to}`;
    if (parameters['format'] === 'json') answer.attachment(`${name}.json`).json(invoice);
    else answer.attachment(`${name}.csv`).type('text/csv; charset=utf-8').send(invoiceCsv(invoice));
  }

  @Get('response')
  async story(@Req() request: Request, @Query('id') asked: unknown, @Res() answer: Response) {
    const { of, ...actor } = this.#actor(request);
    const id = typeof asked === 'string' ? asked.trim() : '';
    if (id === '') return void answer.type('html').send(page('Responses', findForm(), of));
    try {
      const story = await this.queries.story(actor, id);
      answer.type('html').send(page(id, storyBody(story), of));
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.status !== 404) throw thrown;
      const body = html`${findForm(id)}
        <p class="error" role="alert">${thrown.message}</p>`;
      answer
        .status(404)
        .type('html')
        .send(page('Responses', body, of));
    }
  }

  @Get('dead-letters')
  letters(@Req() request: Request, @Query('state') state: unknown, @Res() answer: Response) {
    return this.#letters(request, answer, state === 'booked' || state === 'written_off' ? state : 'open');
  }

  @Post('dead-letters/:id/retry')
  @HttpCode(200)
  retry(@Req() request: Request, @Param('id') id: string, @Res() answer: Response) {
    return this.#decide(request, answer, (actor, reason) => this.queries.retry(actor, id, reason));
  }

  @Post('dead-letters/:id/write-off')
  @HttpCode(200)
  writeOff(@Req() request: Request, @Param('id') id: string, @Res() answer: Response) {
    return this.#decide(request, answer, (actor, reason) => this.queries.writeOff(actor, id, reason));
  }

  @Get('decisions')
  decision(@Req() request: Request, @Res() answer: Response): void {
    const { of, session } = this.#actor(request, 'operator');
    answer.type('html').send(page('Payments and refunds', decisionBody(session), of));
  }

  @Post('decisions')
  @HttpCode(200)
  async decide(@Req() request: Request, @Res() answer: Response): Promise<void> {
    const { of, ...actor } = this.#actor(request, 'operator');
    const fields = decisionFields(await this.#ownForm(request, actor.session));
    try {
      await this.queries.decide(actor, fields);
      answer.redirect(303, '/');
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      const body = decisionBody(actor.session, fields, thrown.message);
      answer
        .status(thrown.status)
        .type('html')
        .send(page('Payments and refunds', body, of));
    }
  }

  async #letters(request: Request, answer: Response, state: LetterState, error?: ApiError): Promise<void> {
    const { of, session } = this.#actor(request, 'operator');
    const body = lettersBody(await this.queries.letters(state), state, session, error?.message);
    answer
      .status(error?.status ?? 200)
      .type('html')
      .send(page('Dead letters', body, of));
  }

  async #decide(
    request: Request,
    answer: Response,
    decide: (actor: ReturnType<Actors['ofSession']>, reason: string | null) => Promise<void>,
  ): Promise<void> {
    const actor = this.actors.ofSession(request, 'operator');
    const form = await this.#ownForm(request, actor.session);
    try {
      await decide(actor, form.get('reason'));
      answer.redirect(303, '/dead-letters');
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      await this.#letters(request, answer, 'open', thrown);
    }
  }

  /** @throws ApiError for a form that was made for another session, or by another site */
  async #ownForm(request: Request, session: Session): Promise<URLSearchParams> {
    const form = await readForm(request);
    if (isOwnForm(session, form.get('token'))) return form;
    const message =
      'This form was not made for you as you are signed in now. Reload its page and send it again.';
    throw new ApiError('origin_not_allowed', { message });
  }

  #actor(request: Request, scope: 'billing' | 'operator' = 'billing') {
    const actor = this.actors.ofSession(request, scope);
    const of: PageOf = {
      session: actor.session,
      isOperator: actor.tenant === undefined,
      hasQueue: this.hasQueue,
    };
    return { ...actor, of };
  }
}
