import { WebSocket } from 'ws';

/** An event as it came off the wire. */
export interface WireEvent {
  type: string;
  sequence_number?: number;
  stream_id?: string;
  status?: number;
  error?: { type: string; code: string; message: string; param: string | null };
  response?: {
    id: string;
    status: string;
    output: WireItem[];
    usage: WireUsage | null;
    error: { code: string } | null;
  };
  item?: WireItem;
  delta?: string;
  [field: string]: unknown;
}

export interface WireItem {
  type: string;
  id?: string;
  role?: string;
  call_id?: string;
  name?: string;
  arguments?: string;
  content?: { type: string; text: string }[];
  [field: string]: unknown;
}

export interface WireUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** A WebSocket client that shows every message it got. */
export class SocketClient {
  readonly socket: WebSocket;
  readonly events: WireEvent[] = [];
  readonly raw: string[] = [];
  #listeners = new Set<() => void>();
  closed: { code: number; reason: string } | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) throw new Error('the server sent a binary message');
      const text = data.toString();
      this.raw.push(text);
      this.events.push(JSON.parse(text) as WireEvent);
      this.#wake();
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#wake();
    });
  }

  static async connect(
    url: string,
    path = '/v1/responses',
    headers: Record<string, string> = {},
  ): Promise<SocketClient> {
    const socket = new WebSocket(url.replace('http', 'ws') + path, { headers, perMessageDeflate: false });
    const client = new SocketClient(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return client;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** Sends a `response.create` and returns the events until its response, or an error, ends its lane's turn. */
  async create(body: Record<string, unknown>): Promise<WireEvent[]> {
    const from = this.events.length;
    const lane = body['stream_id'];
    this.send({ type: 'response.create', model: 'sim', ...body });
    const mine = () => this.events.slice(from).filter((event) => event.stream_id === lane);
    await this.until(() => mine().some(({ type }) => TERMINAL.has(type)));
    return mine();
  }

  /** Waits until `condition` holds; fails when the socket closes first. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.closed !== undefined) throw new Error(`closed with ${this.closed.code} ${this.closed.reason}`);
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
    }
  }

  async untilClosed(): Promise<{ code: number; reason: string }> {
    while (this.closed === undefined) await new Promise<void>((resolve) => this.#listeners.add(resolve));
    return this.closed;
  }

  close(): void {
    this.socket.close();
  }

  #wake(): void {
    const waiting = [...this.#listeners];
    this.#listeners.clear();
    for (const resolve of waiting) resolve();
  }
}

/** The terminal event of a response; fails the test when there is none or it is an error. */
export function terminalOf(events: readonly WireEvent[]): Required<Pick<WireEvent, 'response'>> & WireEvent {
  const last = events.at(-1);
  if (last?.response === undefined) throw new Error(`no terminal event: ${JSON.stringify(last)}`);
  return last as Required<Pick<WireEvent, 'response'>> & WireEvent;
}

/** Text of all messages of a response. */
export function textOf(events: readonly WireEvent[]): string {
  return terminalOf(events)
    .response.output.filter(({ type }) => type === 'message')
    .flatMap(({ content }) => content ?? [])
    .map(({ text }) => text)
    .join('');
}
