import type { Response } from 'express';
import type { BackgroundService } from '../background/background.service.js';
import type { Limits } from '../config/schema.js';
import { SseSink } from './sse-sink.js';

/**
 * Answers with the events of a background response behind that number, to the terminal one. A client that leaves can have
 * the rest of them later; an answer that cannot be finished is cut off, so that its client notices.
 */
export async function answerWithEvents(
  answer: Response,
  response: Parameters<BackgroundService['stream']>[0],
  background: BackgroundService,
  limits: Pick<Limits, 'keepAliveMs' | 'sendBufferBytes' | 'sendTimeoutMs'>,
): Promise<void> {
  if (answer.destroyed) return;
  const gone = new AbortController();
  answer.once('close', () => gone.abort());
  const sink = new SseSink(answer, limits);
  sink.open();
  const pulse = setInterval(() => sink.pulse(), limits.keepAliveMs);
  try {
    await background.stream(response, sink, gone.signal);
    answer.end();
  } finally {
    clearInterval(pulse);
  }
}
