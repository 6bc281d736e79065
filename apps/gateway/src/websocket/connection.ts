import type { Principal } from '@turnpike/access';
import type { ConnectionCache, ResumeWindow } from '@turnpike/conversation';
import { ApiError, parseRequestInSlices } from '@turnpike/protocol';
import { LaneScheduler, type LaneId } from '@turnpike/turns';
import type { WebSocket } from 'ws';
import { log } from '../log.js';
import type { TurnConnection } from '../turn/turn-input.js';
import type { TurnService } from '../turn/turn.service.js';
import { errorFrame, interruptFailed, readFrame } from './frames.js';
import type { Outbox } from './outbox.js';

export interface ConnectionParts {
  readonly client: WebSocket;
  readonly outbox: Outbox;
  readonly principal: Principal;
  readonly cache: ConnectionCache;
  readonly resume: ResumeWindow;
  readonly turns: TurnService;
  /** How long the connection may live, in ms. */
  readonly lifetimeMs: number;
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
/** RFC 6455: "service restart" and "going away". SDKs that reconnect do so after either. */
const CLOSE_SERVICE_RESTART = 1012;
const CLOSE_GOING_AWAY = 1001;
/** RFC 6455: there was no close frame, the network or the peer is gone. */
const CLOSED_ABNORMALLY = 1006;

/** One WebSocket: reads frames, runs them on their lanes, answers through its outbox. */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #lanes = new LaneScheduler<Job>();
  readonly #gone = new AbortController();
  /** How to interrupt each response that runs, by its id. */
  readonly #running = new Map<string, () => void>();
  readonly #ping: NodeJS.Timeout;
  readonly #lifetime: NodeJS.Timeout;
  #unanswered = 0;
  /** Why no further turns are taken. */
  #refusal: ApiError | undefined;
  #onIdle: (() => void) | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    const { client } = parts;
    client.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary));
    client.on('pong', () => (this.#unanswered = 0));
    client.on('error', (error) => log.debug({ err: error }, 'websocket error'));
    client.on('close', (code) => this.#close(code));
    this.#ping = setInterval(() => this.#beat(), PING_MS).unref();
    this.#lifetime = setTimeout(() => void this.#expire(), parts.lifetimeMs).unref();
  }

  /** Refuses new turns, lets running and queued ones finish, then closes; resolves when the socket may go. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#refusal = new ApiError('server_shutting_down', { retryAfter: 1 });
    await this.#idle(deadline);
    this.#parts.client.close(CLOSE_SERVICE_RESTART, 'the server is restarting');
  }

  /** The connection has reached its age: it says so, also when nothing runs, and closes once nothing does. */
  async #expire(): Promise<void> {
    this.#refusal = new ApiError('websocket_connection_limit_reached');
    this.#refuse(this.#refusal);
    await this.#idle(this.#gone.signal);
    this.#parts.client.close(CLOSE_GOING_AWAY, 'the connection has reached its age');
  }

  /** Resolves when nothing runs any more, or at the deadline. */
  async #idle(deadline: AbortSignal): Promise<void> {
    if (this.#lanes.running === 0 || deadline.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #message(data: Buffer, isBinary: boolean): void {
    try {
      if (isBinary) throw new ApiError('binary_frame');
      const frame = readFrame(data.toString('utf8'));
      if (frame.kind === 'answered') this.#parts.outbox.sendText(frame.reply);
      if (frame.kind === 'interrupt') this.#interrupt(frame.responseId, frame.streamId);
      if (frame.kind === 'create') this.#submit(frame);
    } catch (thrown) {
      this.#refuse(ApiError.from(thrown));
    }
  }

  /** Goes past the queue: it is about what already runs. */
  #interrupt(responseId: unknown, streamId: string | undefined): void {
    const id = typeof responseId === 'string' ? responseId : '';
    const interrupt = this.#running.get(id);
    this.#running.delete(id);
    if (interrupt === undefined) this.#parts.outbox.sendText(interruptFailed(responseId, streamId));
    else interrupt();
  }

  #submit(job: Job): void {
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal, job.streamId);
    const decision = this.#lanes.submit(job.streamId, job);
    if (decision.kind === 'start') void this.#run(job);
    if (decision.kind === 'refuse') {
      const param = decision.code === 'websocket_stream_limit_reached' ? 'stream_id' : undefined;
      this.#refuse(new ApiError(decision.code, { param }), job.streamId);
    }
  }

  async #run(job: Job): Promise<void> {
    let running = '';
    const onBegin = (responseId: string, interrupt: () => void) => {
      running = responseId;
      this.#running.set(responseId, interrupt);
    };
    try {
      const { outbox, principal, turns } = this.#parts;
      await turns.run({
        request: await parseRequestInSlices(job.body, 'websocket'),
        tenant: principal.tenant,
        sink: outbox,
        signal: this.#gone.signal,
        connection: { ...this.#connection(job.streamId), onBegin },
      });
    } catch (thrown) {
      this.#refuse(ApiError.from(thrown), job.streamId);
    }
    this.#running.delete(running);
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

  /** What a turn of this lane sees of the connection. What it takes from a lost one joins this one's cache. */
  #connection(lane: LaneId): Omit<TurnConnection, 'onBegin'> {
    const { cache, resume } = this.#parts;
    const load = (tenant: string, id: string) => {
      const node = resume.take(tenant, id);
      if (node !== undefined) cache.add(node, lane);
      return node;
    };
    return { cache, lane, lost: { load } };
  }

  #close(code: number): void {
    clearInterval(this.#ping);
    clearTimeout(this.#lifetime);
    this.#lanes.clear();
    this.#gone.abort();
    if (code === CLOSED_ABNORMALLY || this.#refusal !== undefined) this.#parts.resume.park(this.#parts.cache);
    else this.#parts.cache.clear();
  }
}
