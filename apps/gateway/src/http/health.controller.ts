import { Controller, Get, Inject } from '@nestjs/common';
import { ApiError } from '@turnpike/protocol';
import { ResponsesGateway } from '../websocket/responses.gateway.js';

/** For load balancers: ready while new work is taken. Whoever asks has no key, so nothing is said about those who do. */
@Controller('health')
export class HealthController {
  constructor(@Inject(ResponsesGateway) private readonly gateway: ResponsesGateway) {}

  @Get()
  health() {
    if (this.gateway.draining) throw new ApiError('server_shutting_down', { retryAfter: 1 });
    return { status: 'ok' };
  }
}
