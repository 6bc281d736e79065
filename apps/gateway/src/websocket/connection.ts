import type { Principal } from '@turnpike/access';
import type { ConnectionCache } from '@turnpike/conversation';
import { ApiError, parseRequestInSlices } from '@turnpike/protocol';
import { LaneScheduler } from '@turnpike/turns';
import type { WebSocket } from 'ws';
import { log } from '../log.js';
import type { TurnService } from '../turn/turn.service.js';
import { errorFrame, readFrame } from './frames.js';
import type { Outbox } from './outbox.js';

export interface ConnectionParts {
  readonly client: WebSocket;
  readonly outbox: Outbox;
  readonly principal: Principal;
  readonly cache: ConnectionCache;
  readonly turns: TurnService;
}

/**
 * A request on its lane. It is read when its turn comes, so that the error of one that cannot be read is never taken
 * for the failure of the turn before it.
 */
interface Job {
  readonly streamId: string | undefined;
  readonly body: Record<string, unknown>;
}

/** How often a silent client is pinged, in ms; two pings without an answer end the connection. */
const PING_MS = 20_000;
/** RFC 6455: "service restart". SDKs that reconnect do so after this code. */
const CLOSE_SERVICE_RESTART = 1012;

/** One WebSocket: reads frames, runs them on their lanes, answers through its outbox. */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #lanes = new LaneScheduler<Job>();
  readonly #gone = new AbortController();
  readonly #ping: NodeJS.Timeout;
  #unanswered = 0;
  #draining = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    const { client } = parts;
    client.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary));
    client.on('pong', () => (this.#unanswered = 0));
    client.on('error', (error) => log.debug({ err: error }, 'websocket error'));
    client.on('close', () => this.#close());
    this.#ping = setInterval(() => this.#beat(), PING_MS).unref();
  }

  /** Refuses new turns, lets running and queued ones finish, then closes; resolves when the socket may go. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#draining = true;
    if (this.#lanes.running > 0 && !deadline.aborted) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
        deadline.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    this.#parts.client.close(CLOSE_SERVICE_RESTART, 'the server is restarting');
  }

  #message(data: Buffer, isBinary: boolean): void {
    try {
      if (isBinary) throw new ApiError('binary_frame');
      const frame = readFrame(data.toString('utf8'));
      if (frame.kind === 'answered') this.#parts.outbox.sendText(frame.reply);
      if (frame.kind === 'create') this.#submit(frame);
    } catch (thrown) {
      this.#refuse(ApiError.from(thrown));
    }
  }

  #submit(job: Job): void {
    if (this.#draining)
      return this.#refuse(new ApiError('server_shutting_down', { retryAfter: 1 }), job.streamId);
    const decision = this.#lanes.submit(job.streamId, job);
    if (decision.kind === 'start') void this.#run(job);
    if (decision.kind === 'refuse') {
      const param = decision.code === 'websocket_stream_limit_reached' ? 'stream_id' : undefined;
      this.#refuse(new ApiError(decision.code, { param }), job.streamId);
    }
  }

  async #run(job: Job): Promise<void> {
    try {
      const { outbox, principal, cache, turns } = this.#parts;
      await turns.run({
        request: await parseRequestInSlices(job.body, 'websocket'),
        tenant: principal.tenant,
        sink: outbox,
        signal: this.#gone.signal,
        connection: { cache, lane: job.streamId },
      });
    } catch (thrown) {
      this.#refuse(ApiError.from(thrown), job.streamId);
    }
    const next = this.#lanes.finish(job.streamId);
    if (next !== undefined) void this.#run(next.job);
    else if (this.#lanes.running === 0) this.#onIdle?.();
  }

  #refuse(error: ApiError, streamId?: string): void {
    if (error.status >= 500) log.error({ err: error.cause ?? error }, 'turn refused');
    this.#parts.outbox.sendText(errorFrame(error, streamId));
  }

  #beat(): void {
    if (this.#unanswered >= 2) return this.#parts.client.terminate();
    this.#unanswered++;
    this.#parts.client.ping();
  }

  #close(): void {
    clearInterval(this.#ping);
    this.#lanes.clear();
    this.#gone.abort();
    this.#parts.cache.clear();
  }
}
