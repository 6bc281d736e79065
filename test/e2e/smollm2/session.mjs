import { WebSocket } from 'ws';

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** A WebSocket connection to the gateway, and what the engine behind it says of each turn. */
export class Session {
  #socket;
  #engineUrl;
  #events = [];
  #wake = () => undefined;

  static async open({ url, engineUrl }) {
    const session = new Session();
    session.#engineUrl = engineUrl;
    session.#socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
    session.#socket.on('message', (data) => {
      session.#events.push(JSON.parse(data.toString()));
      session.#wake();
    });
    session.#socket.on('close', () => session.#wake());
    await new Promise((resolve, reject) => {
      session.#socket.once('open', resolve);
      session.#socket.once('error', reject);
    });
    return session;
  }

  /**
   * One turn.
   * @returns the response, its text, and what the engine itself counted for each request that the gateway made for it: the
   *   first, and the last. They are two where the first output was not the call that it had to be.
   */
  async turn(fields) {
    this.#events.length = 0;
    const before = (await this.#engineState()).requests;
    const request = { type: 'response.create', model: 'smollm2', store: false, temperature: 0, ...fields };
    this.#socket.send(JSON.stringify(request));
    const last = await this.#terminal();
    if (last.type === 'error' || last.type === 'response.failed') {
      throw new Error(JSON.stringify(last.error ?? last.response.error));
    }
    const text = this.#events
      .filter(({ type }) => type === 'response.output_text.delta')
      .map(({ delta }) => delta)
      .join('');
    const { requests, recent } = await this.#engineState();
    const made = recent.slice(before - requests);
    return { response: last.response, text, first: made[0], last: made.at(-1) };
  }

  close() {
    this.#socket.close();
  }

  async #engineState() {
    return (await fetch(`${this.#engineUrl}/debug/state`)).json();
  }

  async #terminal() {
    for (;;) {
      const found = this.#events.find(({ type }) => TERMINAL.has(type));
      if (found) return found;
      if (this.#socket.readyState !== WebSocket.OPEN) throw new Error('the connection was closed');
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }
}
