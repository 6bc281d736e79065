import { createInterface } from 'node:readline';
import { startChild } from './child.mjs';
import { CODEX } from './install.mjs';

const WAIT_MS = 60_000;
const CLIENT = { name: 'turnpike_e2e', title: 'Turnpike', version: '1.0.0' };

/** `codex app-server`, which Codex's own user interfaces speak to: JSON-RPC, one message a line. */
export class AppServer {
  #child;
  #calls = new Map();
  #waiting = new Set();
  #lastId = 0;
  #thread;
  #errors = '';
  /** Every notification, oldest first. */
  notifications = [];

  /** Starts one and opens a conversation in it. */
  static async start({ repository, env }) {
    const server = new AppServer();
    server.#spawn(repository, env);
    await server.call('initialize', { clientInfo: CLIENT });
    server.#write({ method: 'initialized' });
    const settings = { cwd: repository, approvalPolicy: 'never', sandbox: 'danger-full-access' };
    const { thread } = await server.call('thread/start', settings);
    server.#thread = thread.id;
    return server;
  }

  /** Calls a method of the conversation, or of the server before there is one. */
  call(method, params = {}) {
    const id = ++this.#lastId;
    this.#write({ id, method, params: { threadId: this.#thread, ...params } });
    const answer = new Promise((resolve, reject) => this.#calls.set(id, { method, resolve, reject }));
    return this.#inTime(answer, method);
  }

  /** Begins a turn; resolves with its id. */
  async begin(text) {
    const { turn } = await this.call('turn/start', { input: said(text) });
    return turn.id;
  }

  /** Says something while a turn runs. */
  steer(turnId, text) {
    return this.call('turn/steer', { expectedTurnId: turnId, input: said(text) });
  }

  /** A turn from its beginning to its answer. */
  async turn(text) {
    const id = await this.begin(text);
    await this.ended(id);
    return this.answer(id);
  }

  /** Resolves when a turn has ended, and fails when it ended in another way. */
  async ended(turnId, as = 'completed') {
    const { params } = await this.until('turn/completed', ({ turn }) => turn.id === turnId);
    const { status, error } = params.turn;
    if (status !== as) throw new Error(`a turn ended ${status}, not ${as}: ${JSON.stringify(error)}`);
  }

  /** The agent's last message of a turn. */
  answer(turnId) {
    const ended = this.notifications.filter(({ method }) => method === 'item/completed');
    const items = ended.filter(({ params }) => params.turnId === turnId).map(({ params }) => params.item);
    return items.findLast(({ type }) => type === 'agentMessage')?.text ?? '';
  }

  /** Resolves with the first notification of this kind that is like this, be it an old one. */
  until(method, matches) {
    const found = async () => {
      for (;;) {
        const notification = this.notifications.find(
          (each) => each.method === method && matches(each.params),
        );
        if (notification !== undefined) return notification;
        await new Promise((resolve) => this.#waiting.add(resolve));
      }
    };
    return this.#inTime(found(), method);
  }

  async stop() {
    if (this.#child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill(), 5_000);
    await ended;
    clearTimeout(timer);
  }

  #spawn(cwd, env) {
    this.#child = startChild(CODEX, ['app-server'], { cwd, env, stdio: 'pipe' });
    this.#child.stderr.on('data', (chunk) => (this.#errors += chunk));
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(JSON.parse(line)));
  }

  #read(message) {
    const { id, method, result, error } = message;
    if (method !== undefined) {
      this.notifications.push(message);
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
      return;
    }
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(`${call.method}: ${JSON.stringify(error)}`));
  }

  #write(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #inTime(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
      const fail = () => reject(new Error(`no ${what} within ${WAIT_MS} ms\n${this.#errors}`));
      timer = setTimeout(fail, WAIT_MS);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }
}

function said(text) {
  return [{ type: 'text', text, text_elements: [] }];
}
