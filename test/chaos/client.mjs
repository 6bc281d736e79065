// One client: turns on lanes of a WebSocket and over HTTP, some of them cancelled, some cut off.
import { WebSocket } from 'ws';

/** What a client was told of a turn. */
export class Told {
  /** Terminal events by response id. */
  ended = new Map();
  /** Responses that have begun. */
  begun = new Set();
  /** Turns whose gateway lived and said nothing more. */
  silent = [];

  take(event) {
    const { type, response } = event;
    if (response?.id === undefined) return;
    this.begun.add(response.id);
    if (/^response\.(completed|incomplete|failed)$/.test(type)) {
      const { status, usage, store } = response;
      this.ended.set(response.id, { status, usage, store });
    }
  }
}

/** How long a client waits for a turn, in ms: a gateway that is killed closes its connections, and any other one answers. */
const PATIENCE_MS = 60_000;

/** Runs one turn; returns whether a response began. A gateway that is gone is no error here. */
export async function runTurn({ url, random, told }) {
  const tokens = 10 + Math.floor(random() * 80);
  const dice = random();
  const kind =
    dice < 0.55
      ? 'complete'
      : dice < 0.7
        ? 'cancel'
        : dice < 0.85
          ? 'leave'
          : dice < 0.95
            ? 'http'
            : 'http-leave';
  const body = {
    model: 'sim',
    input: `[sim tokens=${tokens}] ${kind}`,
    reasoning: { effort: 'low' },
    store: random() < 0.3,
  };
  const after = Math.floor(random() * 12);
  try {
    return kind.startsWith('http')
      ? await overHttp(url, body, told, kind === 'http-leave' ? after : undefined)
      : await overSocket(url, body, told, { kind, after, lane: `lane${Math.floor(random() * 4)}` });
  } catch {
    return false;
  }
}

function overSocket(url, body, told, { kind, after, lane }) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { handshakeTimeout: 5_000 });
    let began = '';
    let deltas = 0;
    const end = () => {
      clearTimeout(patience);
      socket.terminate();
      resolve(began !== '');
    };
    const patience = setTimeout(() => {
      told.silent.push(`${began || 'a turn that never began'} (${kind})`);
      end();
    }, PATIENCE_MS);
    socket.on('error', end);
    socket.on('close', end);
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'response.create', stream_id: lane, ...body })),
    );
    socket.on('message', (data) => {
      const event = JSON.parse(data.toString());
      told.take(event);
      if (event.type === 'error') return end();
      if (event.type === 'response.created') began = event.response.id;
      if (event.type.endsWith('.delta') && deltas++ === after) {
        if (kind === 'leave') return end();
        if (kind === 'cancel')
          socket.send(
            JSON.stringify({
              type: 'response.interrupt',
              response_id: began,
              stream_id: lane,
            }),
          );
      }
      if (/^response\.(completed|incomplete|failed)$/.test(event.type)) end();
    });
  });
}

async function overHttp(url, body, told, leaveAfter) {
  const gone = new globalThis.AbortController();
  const patience = setTimeout(() => {
    told.silent.push(`a turn over HTTP (${body.input})`);
    gone.abort();
  }, PATIENCE_MS);
  try {
    return await streamed(url, body, told, { gone, leaveAfter });
  } finally {
    clearTimeout(patience);
  }
}

async function streamed(url, body, told, { gone, leaveAfter }) {
  const answer = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
    signal: gone.signal,
  });
  if (answer.status !== 200 || answer.body === null) return false;
  let began = false;
  let text = '';
  let deltas = 0;
  try {
    for await (const chunk of answer.body) {
      text += Buffer.from(chunk).toString();
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const each of events) {
        const data = /^data: (\{.*\})$/m.exec(each)?.[1];
        if (data === undefined) continue;
        const event = JSON.parse(data);
        told.take(event);
        if (event.type === 'response.created') began = true;
        if (event.type.endsWith('.delta') && deltas++ === leaveAfter) gone.abort();
      }
    }
  } catch {
    // The gateway was killed, or we left.
  }
  return began;
}
