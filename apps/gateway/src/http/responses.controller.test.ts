import { expect, it, jest } from '@jest/globals';
import { KeyRing } from '@turnpike/access';
import type { Request, Response } from 'express';
import { PassThrough } from 'node:stream';
import type { BackgroundService } from '../background/background.service.js';
import { configSchema } from '../config/schema.js';
import type { TurnService } from '../turn/turn.service.js';
import { IdempotentAnswers } from './idempotency.js';
import { ResponsesController } from './responses.controller.js';

/** A request whose client is gone while the server reads what it wants. */
function departed(): { request: Request; response: Response; leave: () => void } {
  const request = Object.assign(new PassThrough(), { headers: {} });
  request.end('{"model":"m","input":"x"}');
  const response = Object.assign(new PassThrough(), { set: () => undefined });
  return {
    request: request as unknown as Request,
    response: response as unknown as Response,
    leave: () => response.emit('close'),
  };
}

it('runs no turn for a client that left before its request was read', async () => {
  const { request, response, leave } = departed();
  const turns = {
    read: () => {
      leave();
      return Promise.resolve({ stream: false });
    },
    run: jest.fn(),
  };
  const controller = new ResponsesController(
    configSchema.parse({}),
    new KeyRing([]),
    turns as unknown as TurnService,
    { accept: jest.fn() } as unknown as BackgroundService,
    new IdempotentAnswers(),
  );
  await controller.create(request, response);
  expect(turns.run).not.toHaveBeenCalled();
});
