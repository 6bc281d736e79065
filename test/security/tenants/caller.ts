import { SocketClient } from '../../e2e/socket-client.js';

/** What somebody got to hear. */
export interface Answer {
  /** Of HTTP; of a WebSocket 0. */
  readonly status: number;
  /** Without those that differ from one request to the next whatever is asked. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, or the frames of a WebSocket, as JSON texts. */
  readonly body: string;
}

const VOLATILE = ['date', 'x-request-id', 'openai-processing-ms'];

/** Fields of a frame. */
export interface Frame {
  readonly stream_id?: string;
  readonly [field: string]: unknown;
}

const TERMINAL = /^(error|response\.(completed|failed|incomplete))$/;

/** Somebody with a key, and a connection of their own. */
export class Caller {
  readonly key: string;
  readonly socket: SocketClient;
  readonly url: string;

  private constructor(key: string, url: string, socket: SocketClient) {
    this.key = key;
    this.url = url;
    this.socket = socket;
  }

  static async connect(url: string, key: string): Promise<Caller> {
    return new Caller(key, url, await SocketClient.connect(url, '/v1/responses', bearer(key)));
  }

  async http(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${this.url}/v1${path}`, {
      method,
      headers: bearer(this.key),
      ...(body !== undefined && { body: JSON.stringify({ model: 'sim', ...body }) }),
    });
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !VOLATILE.includes(name)));
    const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
    return {
      status: answer.status,
      headers,
      body: isStream ? await firstEvent(answer) : await answer.text(),
    };
  }

  /** A request that has to be answered. */
  async get<T = { id: string }>(method: string, path: string, body?: object): Promise<T> {
    const { status, body: text } = await this.http(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** What is said to a frame: to a request all of its lane up to its end, but for deltas, which are as long as they come. */
  async frame(type: string, fields: Frame): Promise<Answer> {
    const from = this.socket.events.length;
    this.socket.send({ type, ...fields });
    const isCreate = type === 'response.create';
    const said = () =>
      this.socket.events
        .slice(from)
        .filter(
          (event) =>
            event.type === 'error' ||
            event.type.startsWith(`${type}.`) ||
            (isCreate && event.stream_id === fields.stream_id),
        );
    await this.socket.until(() => said().some((event) => !isCreate || TERMINAL.test(event.type)));
    const body = JSON.stringify(said().filter((event) => !event.type.endsWith('.delta')));
    return { status: 0, headers: {}, body };
  }

  create(fields: Frame): Promise<Answer> {
    return this.frame('response.create', { model: 'sim', ...fields });
  }
}

/** The first event of a stream, which may have no end; the rest is not waited for. */
async function firstEvent(answer: Response): Promise<string> {
  let text = '';
  for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(part).toString();
    const end = text.indexOf('\n\n');
    if (end !== -1) return text.slice(0, end);
  }
  return text;
}

export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}
