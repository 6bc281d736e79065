import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import { ManualScheduler } from '../testing/manual-scheduler.js';
import { CompletionsService } from './completions.service.js';
import { SimulatedModel } from './model/simulated-model.js';
import { DEFAULT_SETTINGS } from './settings.js';

function start(prompt: string) {
  const scheduler = new ManualScheduler();
  const service = new CompletionsService(DEFAULT_SETTINGS, new SimulatedModel(o200kHarmony()), scheduler);
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const answer = () =>
    service.answer(Buffer.from(JSON.stringify({ prompt, max_tokens: 900, stream: true })), response);
  return { scheduler, service, response, answer };
}

describe('CompletionsService', () => {
  it('stops generating in the very tick in which the response closes', () => {
    const { scheduler, service, response, answer } = start('Hello [sim limit=1]');
    answer();
    scheduler.pass(40);
    const generated = service.stats.tokensGenerated;
    expect(generated).toBeGreaterThan(0);
    response.emit('close');
    expect(scheduler.idle).toBe(true);
    expect(service.stats.running).toBe(0);
    expect(service.stats.aborted).toBe(1);
    expect(service.stats.last).toMatchObject({ aborted: true, completion_tokens: generated });
  });

  it('does not count a response that closes after its end', () => {
    const { scheduler, service, response, answer } = start('Hello');
    answer();
    scheduler.pass(1000);
    response.emit('close');
    expect(service.stats).toMatchObject({ requests: 1, running: 0, aborted: 0 });
    expect(service.stats.last).toMatchObject({ finish_reason: 'stop', aborted: false });
  });

  it('goes on only after a response whose buffer is full has drained', () => {
    const { scheduler, service, response, answer } = start('Hello [sim limit=1]');
    answer();
    // Nothing ever leaves this response, so its buffer fills up.
    scheduler.pass(2000);
    const generated = service.stats.tokensGenerated;
    expect(generated).toBeLessThan(900);
    expect(scheduler.idle).toBe(true);
    response.emit('drain');
    scheduler.leap(0);
    expect(service.stats.tokensGenerated).toBe(900);
  });

  it('refuses with an error and writes nothing', () => {
    const { service, response, answer } = start('Hello [sim status=503]');
    expect(answer).toThrow('sim status 503');
    expect(response.headersSent).toBe(false);
    expect(service.stats.requests).toBe(0);
  });
});
