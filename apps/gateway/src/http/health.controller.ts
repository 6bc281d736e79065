import { Controller, Get, Inject } from '@nestjs/common';
import type { Meter } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import type { Standing } from '@turnpike/routing';
import { Engines } from '../engines.js';
import { METER } from '../tokens.js';
import { ResponsesGateway } from '../websocket/responses.gateway.js';

/**
 * For load balancers: ready while new work is taken. Whoever asks has no key, so nothing is said about those who do; of
 * engines, how each stands, by its name. A gateway whose engines are away stays in: the other gateways have the same ones.
 */
@Controller('health')
export class HealthController {
  constructor(
    @Inject(ResponsesGateway) private readonly gateway: Pick<ResponsesGateway, 'draining'>,
    @Inject(Engines) private readonly engines: Pick<Engines, 'names' | 'standing'>,
    @Inject(METER) private readonly meter: Pick<Meter, 'isFull'>,
  ) {}

  @Get()
  health() {
    if (this.gateway.draining) throw new ApiError('server_shutting_down', { retryAfter: 1 });
    // Its journal takes nothing: others, with a disk of their own, may.
    if (this.meter.isFull) throw new ApiError('metering_unavailable');
    const engines = this.engines.names().map((name) => [name, this.engines.standing(name)]);
    return { status: 'ok', engines: Object.fromEntries(engines) as Record<string, Standing> };
  }
}
