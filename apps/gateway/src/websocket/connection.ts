import type { Principal } from '@turnpike/access';
import type { ConnectionCache, ResumeWindow } from '@turnpike/conversation';
import { ApiError, mintId, parseJson, type ResponseRequest } from '@turnpike/protocol';
import { LANE_LIMITS, LaneScheduler, type LaneId } from '@turnpike/turns';
import { once, setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { isFault } from '../http/error-response.js';
import { log } from '../log.js';
import type { ResponseControl } from '../turn/response-control.js';
import type { TurnConnection, TurnOutcome } from '../turn/turn-input.js';
import type { TurnService } from '../turn/turn.service.js';
import { Controls } from './controls.js';
import { errorFrame, readFrame } from './frames.js';
import type { Outbox } from './outbox.js';
import { Steering } from './steering.js';

export interface ConnectionParts {
  readonly client: WebSocket;
  /** The TCP socket below. */
  readonly socket: Socket;
  readonly outbox: Outbox;
  readonly principal: Principal;
  /** Whoever it was, as they are now. @throws ApiError once their key lets nobody in any more */
  readonly current: (principal: Principal) => Principal;
  readonly cache: ConnectionCache;
  readonly resume: ResumeWindow;
  readonly turns: TurnService;
  /** How long the connection may live, in ms. */
  readonly lifetimeMs: number;
  /** Bytes of requests that may wait for their lanes. */
  readonly queuedBytes: number;
}

/**
 * A request on its lane. It is read when its turn comes, so that the error of one that cannot be read is never taken
 * for the failure of the turn before it. It waits as text: values can take twenty times as much memory.
 */
interface Job {
  readonly streamId: string | undefined;
  readonly text: string;
}

/** How often a client is pinged, in ms; two pings with nothing received since end the connection. */
const PING_MS = 20_000;
/** When to try again where too much waits already, in seconds: the next place is free when a response ends. */
const QUEUE_RETRY_SECONDS = 1;
/** RFC 6455: "service restart" and "going away". SDKs that reconnect do so after either. */
const CLOSE_SERVICE_RESTART = 1012;
const CLOSE_GOING_AWAY = 1001;
/** RFC 6455: "policy violation". */
const CLOSE_POLICY_VIOLATION = 1008;
/** RFC 6455: there was no close frame, the network or the peer is gone. */
const CLOSED_ABNORMALLY = 1006;

/** One WebSocket: reads frames, runs them on their lanes, answers through its outbox. */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #lanes: LaneScheduler<Job>;
  readonly #gone = new AbortController();
  readonly #controls: Controls;
  readonly #steering: Steering;
  readonly #ping: NodeJS.Timeout;
  readonly #lifetime: NodeJS.Timeout;
  #unanswered = 0;
  /** Bytes received when the last ping went out. */
  #received = 0;
  /** Why no further turns are taken. */
  #refusal: ApiError | undefined;
  readonly #onIdle = new Set<() => void>();
  /** Once closed: whether a new connection may go on with what this one made. */
  #resumable: boolean | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    const { client } = parts;
    const send = (json: string) => parts.outbox.sendText(json);
    this.#controls = new Controls({ tenant: parts.principal.tenant, cache: parts.cache, send });
    this.#steering = new Steering(send);
    this.#lanes = new LaneScheduler({ ...LANE_LIMITS, queuedBytes: parts.queuedBytes });
    // Every turn that runs listens.
    setMaxListeners(0, this.#gone.signal);
    client.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary));
    client.on('error', (error) => log.debug({ err: error }, 'websocket error'));
    client.on('close', (code) => this.#close(code));
    this.#ping = setInterval(() => this.#beat(), PING_MS).unref();
    this.#lifetime = setTimeout(() => void this.#expire(), parts.lifetimeMs).unref();
  }

  /**
   * Refuses new turns, lets running and queued ones finish, then closes; resolves when the client has read everything
   * and closed too, or at `end`.
   * @param deadline when turns that still run end as failed, and those that wait are refused
   */
  async drain(deadline: AbortSignal, end: AbortSignal): Promise<void> {
    const refusal = new ApiError('server_shutting_down', { retryAfter: 1 });
    this.#refusal = refusal;
    this.#controls.stopWaiting();
    const { client } = this.#parts;
    await this.#idle(deadline);
    if (this.#lanes.running > 0) {
      for (const { streamId } of this.#lanes.clear()) this.#refuse(refusal, streamId);
      this.#gone.abort(refusal);
      await this.#idle(end);
    }
    if (client.readyState === client.CLOSED) return;
    const closed = once(client, 'close', { signal: end }).catch(() => undefined);
    client.close(CLOSE_SERVICE_RESTART, 'the server is restarting');
    await closed;
  }

  /** A response was deleted: it cannot be continued from here any more. */
  forget(tenant: string, id: string): void {
    this.#parts.cache.take(tenant, id);
  }

  /** The connection has reached its age: it says so, also when nothing runs, and closes once nothing does. */
  async #expire(): Promise<void> {
    const refusal = new ApiError('websocket_connection_limit_reached');
    this.#refusal = refusal;
    this.#refuse(refusal);
    for (const { streamId } of this.#lanes.clear()) this.#refuse(refusal, streamId);
    this.#controls.stopWaiting();
    await this.#idle(this.#gone.signal);
    this.#parts.client.close(CLOSE_GOING_AWAY, 'the connection has reached its age');
  }

  /**
   * Who the connection acts for, as of now: a key can be revoked, and what it may do can change, while it is open.
   * @throws ApiError once the key lets nobody in any more; the connection then ends with what runs on it
   */
  #current(): Principal {
    try {
      return this.#parts.current(this.#parts.principal);
    } catch (thrown) {
      const refusal = ApiError.from(thrown);
      if (this.#refusal === undefined) void this.#lockOut(refusal);
      throw refusal;
    }
  }

  async #lockOut(refusal: ApiError): Promise<void> {
    this.#refusal = refusal;
    for (const { streamId } of this.#lanes.clear()) this.#refuse(refusal, streamId);
    this.#controls.stopWaiting();
    await this.#idle(this.#gone.signal);
    this.#parts.client.close(CLOSE_POLICY_VIOLATION, 'the API key is not valid any more');
  }

  /** Resolves when nothing runs any more, or at the deadline. */
  async #idle(deadline: AbortSignal): Promise<void> {
    if (this.#lanes.running === 0 || deadline.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onIdle.add(resolve);
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #message(data: Buffer, isBinary: boolean): void {
    try {
      if (isBinary) throw new ApiError('binary_frame');
      const text = data.toString('utf8');
      const frame = readFrame(text);
      if (frame.kind === 'answered') this.#parts.outbox.sendText(frame.reply);
      if (frame.kind === 'control') this.#controls.handle(frame.frame);
      if (frame.kind === 'create') this.#submit({ streamId: frame.streamId, text }, frame.body, data.length);
    } catch (thrown) {
      this.#refuse(ApiError.from(thrown));
    }
  }

  #submit(job: Job, body: Record<string, unknown>, bytes: number): void {
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal, job.streamId);
    const decision = this.#lanes.submit(job.streamId, job, bytes);
    if (decision.kind === 'start') void this.#run(job.streamId, body);
    if (decision.kind === 'refuse') {
      const param = decision.code === 'websocket_stream_limit_reached' ? 'stream_id' : undefined;
      const retryAfter = decision.code === 'too_many_queued_responses' ? QUEUE_RETRY_SECONDS : undefined;
      this.#refuse(new ApiError(decision.code, { param, retryAfter }), job.streamId);
    }
  }

  async #run(lane: LaneId, body: unknown): Promise<void> {
    let hadHeld = false;
    try {
      const request = await this.#parts.turns.read(body, 'websocket', this.#current());
      const held = this.#steering.heldFor(request, lane);
      hadHeld = held.length > 0;
      const outcome =
        held.length === 0
          ? await this.#turn(lane, request)
          : await this.#turn(lane, { ...request, input: [...held, ...request.input] }, held.length);
      if (held.length > 0) this.#heard(request, outcome.failure);
      await this.#follow(lane, request, outcome);
    } catch (thrown) {
      // A turn that ended because its client left has nobody to tell, and nothing went wrong.
      const error = ApiError.from(thrown);
      if (!this.#gone.signal.aborted) this.#refuse(error, lane);
      const isRefused = error.code === 'content_blocked' && hadHeld;
      // Steering input that is refused would have every request refused that it is put in front of.
      if (error.code === 'previous_response_not_found' || isRefused) this.#steering.lost(body);
    }
    // The next turn of a client that does not read waits like its events do.
    await this.#parts.outbox.ready();
    if (this.#gone.signal.aborted) this.#park();
    const next = this.#lanes.finish(lane);
    if (next !== undefined) void this.#run(next.lane, parseJson(next.job.text));
    else if (this.#lanes.running === 0) this.#idled();
  }

  /** What became of steering input that was put in front of a request. */
  #heard(request: ResponseRequest, failure: ApiError | undefined): void {
    if (failure === undefined) this.#steering.heard(request);
    else if (failure.code === 'content_blocked') this.#steering.drop(request.previousResponseId);
  }

  /** Runs the responses that follow by themselves from what the client said while the one before ran. */
  async #follow(lane: LaneId, request: ResponseRequest, first: TurnOutcome): Promise<void> {
    for (let outcome = first; !this.#gone.signal.aborted;) {
      const successor = this.#steering.successorOf(request, outcome, lane);
      if (successor === undefined) return;
      try {
        this.#current();
        outcome = await this.#turn(lane, successor);
      } catch (thrown) {
        const error = ApiError.from(thrown);
        if (isFault(error)) log.error({ err: error.cause ?? error }, 'turn refused');
        this.#steering.fail(outcome.response.id, outcome.steers, lane);
        return;
      }
    }
  }

  async #turn(lane: LaneId, request: ResponseRequest, prepended = 0): Promise<TurnOutcome> {
    const { outbox, principal, turns } = this.#parts;
    let running = '';
    const onBegin = (responseId: string, control: ResponseControl) => {
      running = responseId;
      this.#controls.begin(responseId, control, lane);
      if (this.#refusal !== undefined) control.stopWaiting();
    };
    try {
      return await turns.run({
        request,
        tenant: principal.tenant,
        key: principal.key,
        sink: outbox,
        signal: this.#gone.signal,
        connection: { ...this.#connection(lane), onBegin },
        prepended,
      });
    } finally {
      this.#controls.end(running);
    }
  }

  #refuse(error: ApiError, streamId?: string): void {
    const request = mintId('request');
    if (isFault(error)) log.error({ err: error.cause ?? error, request }, 'turn refused');
    this.#parts.outbox.sendText(errorFrame(error, streamId, request));
  }

  #beat(): void {
    // Anything counts as life: a large message on a slow line keeps back the pong behind it.
    const { bytesRead } = this.#parts.socket;
    if (bytesRead !== this.#received) this.#unanswered = 0;
    this.#received = bytesRead;
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
    this.#resumable = code === CLOSED_ABNORMALLY || this.#refusal !== undefined;
    this.#park();
  }

  /** What a lost connection made can be continued for a while, and what was still running when it was lost. */
  #park(): void {
    if (this.#resumable === true) this.#parts.resume.park(this.#parts.cache);
    else if (this.#resumable === false) this.#parts.cache.clear();
  }

  #idled(): void {
    for (const resolve of this.#onIdle) resolve();
    this.#onIdle.clear();
  }
}
