// One way of talking to the platform each: `turn({ input, history, previous })` runs one response and returns what it
// made and when. Every client sends the same tools with every turn, as agents do.
import { Agent, request } from 'undici';
import { WebSocket } from 'ws';
import { harmony } from '../../dist/apps/gateway/libs/formats/src/index.js';

export const TOOLS = [
  {
    type: 'function',
    name: 'shell',
    description: 'Runs a command and returns what it prints.',
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
];

const SETTINGS = { model: 'sim', tools: TOOLS, stream: true };

/** Times one response from its events. */
class Watch {
  sentAt = performance.now();
  firstAt = undefined;
  output = [];
  response = undefined;

  /** True when the response has ended. */
  see(event) {
    if (event.type === 'error' || event.type === 'response.failed') throw new Error(JSON.stringify(event));
    if (event.type.endsWith('.delta')) this.firstAt ??= performance.now();
    if (event.type === 'response.output_item.done') this.output.push(event.item);
    if (event.type !== 'response.completed' && event.type !== 'response.incomplete') return false;
    this.response = event.response;
    return true;
  }

  result() {
    const endedAt = performance.now();
    return {
      id: this.response.id,
      output: this.output,
      usage: this.response.usage,
      ttftMs: (this.firstAt ?? endedAt) - this.sentAt,
      wallMs: endedAt - this.sentAt,
    };
  }
}

/** HTTP with server-sent events; `full` sends the whole history each time, else only what is new. */
export function httpTransport(url, { full }) {
  const agent = new Agent();
  return {
    async turn({ input, history, previous }) {
      const watch = new Watch();
      const body = full
        ? { ...SETTINGS, store: false, input: [...history, ...input] }
        : { ...SETTINGS, input, ...(previous && { previous_response_id: previous }) };
      const answer = await request(`${url}/v1/responses`, {
        method: 'POST',
        dispatcher: agent,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (answer.statusCode !== 200) throw new Error(await answer.body.text());
      let rest = '';
      for await (const chunk of answer.body) {
        const events = (rest + chunk).split('\n\n');
        rest = events.pop();
        for (const event of events) watch.see(JSON.parse(event.slice(event.indexOf('\ndata: ') + 7)));
      }
      return watch.result();
    },
    close: () => agent.close(),
  };
}

/** WebSocket mode: one connection, `previous_response_id`, new items only. */
export async function webSocketTransport(url, { store = false } = {}) {
  const socket = await connect(`${url.replace('http', 'ws')}/v1/responses`);
  return {
    turn({ input, previous }) {
      const watch = new Watch();
      const frame = { type: 'response.create', ...SETTINGS, store, input };
      socket.send(JSON.stringify({ ...frame, ...(previous && { previous_response_id: previous }) }));
      return until(socket, (event) => watch.see(event)).then(() => watch.result());
    },
    close: () => socket.close(),
  };
}

/** One response that stays open: a loop's tool outputs are appended to it. */
export async function appendTransport(url) {
  const socket = await connect(`${url.replace('http', 'ws')}/v1/responses`);
  let before;
  return {
    async turn({ input }) {
      const watch = new Watch();
      const frame =
        before === undefined
          ? { type: 'response.create', ...SETTINGS, store: false, append: true, input }
          : { type: 'response.append', input };
      socket.send(JSON.stringify(frame));
      await until(socket, (event) => {
        const ended = watch.see(event);
        if (event.type === 'response.done') watch.response = { id: event.response_id, usage: event.usage };
        return ended || event.type === 'response.done';
      });
      const result = watch.result();
      const usage = sinceLast(result.usage, before);
      before = result.usage;
      return { ...result, usage };
    },
    close: () => socket.close(),
  };
}

/** What one step of a response took, from the counts of the whole response behind it and before it. */
function sinceLast(usage, before) {
  if (before === undefined) return usage;
  const { cached_tokens } = usage.input_tokens_details;
  return {
    input_tokens: usage.input_tokens - before.input_tokens,
    input_tokens_details: { cached_tokens: cached_tokens - before.input_tokens_details.cached_tokens },
    output_tokens: usage.output_tokens - before.output_tokens,
  };
}

/** The bare pass-through: this client does the rendering, outside of what is timed. */
export async function floorTransport(url) {
  const socket = await connect(url.replace('http', 'ws'));
  const format = harmony();
  const ids = (pieces) =>
    pieces.flatMap((piece) => (typeof piece === 'number' ? piece : [...format.tokenizer.encode(piece)]));
  const calls = new Map([['call', { name: 'shell' }]]);
  let begun = false;
  return {
    async turn({ input }) {
      const head = begun ? [] : format.renderHead({ tools: TOOLS });
      begun = true;
      const items = input.map((item) =>
        item.type === 'function_call_output'
          ? { ...item, call_id: 'call' }
          : { type: 'message', role: 'user', content: [{ type: 'input_text', text: item.content }] },
      );
      const added = [
        ...ids(head),
        // Nothing of Harmony is open between two items, so all of them stand at the same place.
        ...items.flatMap((item) => ids(format.renderItem(item, { calls, place: undefined }).pieces)),
        ...format.generationPrompt(undefined),
      ];
      const frame = JSON.stringify({ ids: added, stop: format.stopIds });
      const sentAt = performance.now();
      let firstAt;
      let text = '';
      let usage;
      socket.send(frame);
      await until(socket, (event) => {
        if (event.text) firstAt ??= performance.now();
        text += event.text ?? '';
        usage = event.usage ?? usage;
        return event.done === true;
      });
      const endedAt = performance.now();
      const output = text.includes('to=functions.') ? [{ type: 'function_call', call_id: 'call' }] : [];
      return {
        id: 'floor',
        output,
        usage: {
          input_tokens: usage.prompt_tokens,
          input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens },
          output_tokens: usage.completion_tokens,
        },
        ttftMs: firstAt - sentAt,
        wallMs: endedAt - sentAt,
      };
    },
    close: () => socket.close(),
  };
}

async function connect(url) {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return socket;
}

/** Hands each message to `see` until it returns true. */
function until(socket, see) {
  return new Promise((resolve, reject) => {
    const onMessage = (data) => {
      try {
        if (!see(JSON.parse(data))) return;
      } catch (thrown) {
        socket.off('message', onMessage);
        reject(thrown);
        return;
      }
      socket.off('message', onMessage);
      resolve();
    };
    socket.on('message', onMessage);
  });
}
