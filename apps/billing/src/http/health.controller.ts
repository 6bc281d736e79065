import { Controller, Get, Inject, Res } from '@nestjs/common';
import { Ledger } from '@turnpike/ledger';
import type { Response } from 'express';
import { QueueService } from '../queue/queue.service.js';

/** For whoever restarts it: well while the database answers. A queue that is away comes back by itself. */
@Controller('health')
export class HealthController {
  constructor(
    @Inject(Ledger) private readonly ledger: Ledger,
    @Inject(QueueService) private readonly queue: QueueService,
  ) {}

  @Get()
  async health(@Res() answer: Response): Promise<void> {
    const isWell = await this.ledger.db
      .selectFrom('ledger_balances')
      .select('account')
      .limit(1)
      .execute()
      .then(
        () => true,
        () => false,
      );
    answer
      .status(isWell ? 200 : 503)
      .json({ status: isWell ? 'ok' : 'no database', queue: await this.queue.state() });
  }
}
