import { WebSocket } from 'ws';

/** RFC 6455: "invalid payload data" and "message too big". */
const CLOSE_INVALID_DATA = 1007;
const CLOSE_TOO_BIG = 1009;

/**
 * A WebSocket that says why it ends when ws gives a message up by itself, which it does with a code alone. Clients show
 * the reason; after 1009 they fall back to HTTP.
 * @param frameBytes the most that one message may have
 */
export function explainingSocket(frameBytes: number): typeof WebSocket {
  const reasons: Readonly<Record<number, string>> = {
    [CLOSE_INVALID_DATA]: 'text messages have to be UTF-8',
    [CLOSE_TOO_BIG]: `a message may have ${frameBytes} bytes`,
  };
  return class extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, reason ?? (code === undefined ? undefined : reasons[code]));
    }
  };
}
