import { Controller, Get, Inject } from '@nestjs/common';
import { ApiError } from '@turnpike/protocol';
import type { Standing } from '@turnpike/routing';
import { Engines } from '../engines.js';
import { ResponsesGateway } from '../websocket/responses.gateway.js';

/**
 * For load balancers: ready while new work is taken. Whoever asks has no key, so nothing is said about those who do; of
 * engines, how each stands, by its name. A gateway whose engines are away stays in: the other gateways have the same ones.
 */
@Controller('health')
export class HealthController {
  constructor(
    @Inject(ResponsesGateway) private readonly gateway: ResponsesGateway,
    @Inject(Engines) private readonly engines: Engines,
  ) {}

  @Get()
  health() {
    if (this.gateway.draining) throw new ApiError('server_shutting_down', { retryAfter: 1 });
    const engines = this.engines.names().map((name) => [name, this.engines.standing(name)]);
    return { status: 'ok', engines: Object.fromEntries(engines) as Record<string, Standing> };
  }
}
