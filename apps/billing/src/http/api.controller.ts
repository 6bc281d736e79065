import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { invoiceCsv } from '@turnpike/ledger';
import { dollars } from '@turnpike/metering';
import { ApiError, parseJson } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { BillingQueries, type LetterState } from '../billing-queries.js';
import { decisionObject, letterObject, reconciliationObject, storyObject } from '../objects.js';
import { parseInvoiceQuery, parseUsageQuery, usageCsv, usageObject } from '../usage-query.js';
import { Actors, type Actor } from './actors.js';
import { readText } from './read-text.js';

type QueryParameters = Record<string, unknown>;

const STATES: readonly LetterState[] = ['open', 'booked', 'written_off'];

/** Usage, balances, stories and dead letters for programs: docs/admin-api.md. */
@Controller('billing/v1')
export class ApiController {
  constructor(
    @Inject(Actors) private readonly actors: Actors,
    @Inject(BillingQueries) private readonly queries: BillingQueries,
  ) {}

  @Get('usage')
  async usage(@Req() request: Request, @Query() parameters: QueryParameters, @Res() answer: Response) {
    const actor = await this.actors.ofKey(request);
    const query = parseUsageQuery(parameters, Date.now());
    const sums = await this.queries.usage(actor, query);
    if (parameters['format'] === 'csv') {
      answer.type('text/csv; charset=utf-8').send(usageCsv(query.by, sums));
    } else {
      answer.json({
        object: 'list',
        data: sums.map(usageObject),
        from: query.filter.from,
        to: query.filter.to,
      });
    }
  }

  @Get('invoices')
  async invoice(@Req() request: Request, @Query() parameters: QueryParameters, @Res() answer: Response) {
    const actor = await this.actors.ofKey(request);
    const invoice = await this.queries.invoice(
      actor,
      parseInvoiceQuery(parameters, Date.now(), actor.tenant),
    );
    if (parameters['format'] === 'csv') answer.type('text/csv; charset=utf-8').send(invoiceCsv(invoice));
    else answer.json({ object: 'invoice', ...invoice });
  }

  @Get('balances')
  async balances(@Req() request: Request) {
    const balances = await this.queries.balances(await this.actors.ofKey(request));
    const data = balances.map(({ tenant, balance, entries }) => ({
      object: 'balance',
      tenant,
      owed_usd: dollars(balance),
      entries,
    }));
    return { object: 'list', data };
  }

  @Get('responses/:id')
  async story(@Req() request: Request, @Param('id') id: string) {
    const actor = await this.actors.ofKey(request);
    return storyObject(await this.queries.story(actor, id));
  }

  @Get('reconciliation')
  async reconciliation(@Req() request: Request) {
    await this.actors.ofKey(request, 'operator');
    return reconciliationObject(await this.queries.reconciliation());
  }

  @Post('decisions')
  @HttpCode(200)
  async decide(@Req() request: Request) {
    const actor = await this.actors.ofKey(request, 'operator');
    const text = await readText(request);
    return decisionObject(await this.queries.decide(actor, text === '' ? {} : parseJson(text)));
  }

  @Get('dead_letters')
  async letters(@Req() request: Request, @Query('state') state: unknown) {
    await this.actors.ofKey(request, 'operator');
    const wanted = STATES.find((each) => each === state);
    if (state !== undefined && wanted === undefined) {
      const message = `'state' must be one of ${STATES.join(', ')}.`;
      throw new ApiError('invalid_value', { param: 'state', message });
    }
    return { object: 'list', data: (await this.queries.letters(wanted)).map(letterObject) };
  }

  @Post('dead_letters/:id/retry')
  @HttpCode(200)
  async retry(@Req() request: Request, @Param('id') id: string) {
    const { actor, reason } = await this.#decision(request);
    await this.queries.retry(actor, id, reason);
    return { object: 'dead_letter.resolved', id, state: 'booked' };
  }

  @Post('dead_letters/:id/write_off')
  @HttpCode(200)
  async writeOff(@Req() request: Request, @Param('id') id: string) {
    const { actor, reason } = await this.#decision(request);
    await this.queries.writeOff(actor, id, reason);
    return { object: 'dead_letter.resolved', id, state: 'written_off' };
  }

  async #decision(request: Request): Promise<{ actor: Actor; reason: string | null }> {
    const actor = await this.actors.ofKey(request, 'operator');
    const text = await readText(request);
    const { reason } = Object(text === '' ? {} : parseJson(text)) as { reason?: unknown };
    return { actor, reason: typeof reason === 'string' ? reason : null };
  }
}
