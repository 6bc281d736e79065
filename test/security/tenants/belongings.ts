import { randomBytes } from 'node:crypto';
import { SocketClient, terminalOf, type WireItem } from '../../e2e/socket-client.js';
import { png, dataUrl } from '../../../libs/images/testing/samples.js';
import { everyItem } from '../workload/items.js';
import { bearer, type Caller } from './caller.js';
import type { Name, Use } from './paths.js';

/** Something of a tenant's, and what it can be used for by its owner. */
export interface Belonging extends Name {
  readonly kind: string;
  readonly uses: readonly Use[];
  /** Whether only the connection that made it knows it. */
  readonly isBound?: boolean;
  /** Whether it is one of many items that only differ in their type. */
  readonly isItem?: boolean;
}

type Made = { id: string; output: WireItem[] };

const ALL: readonly Use[] = ['continue', 'continue on its connection', 'read', 'cancel', 'delete'];
const KEPT: readonly Use[] = ['read', 'cancel', 'delete'];
/** Of a response that runs, until it is interrupted; then it is stored. */
const ENDED: readonly Use[] = ['control', 'cancel', 'delete'];
const HERE: readonly Use[] = ['continue on its connection', 'control'];
const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const STALLED = 'wait [sim tokens=100 stall=600000]';
const said = (text: string) => [{ type: 'message', role: 'user', content: `${text} [sim calls=0]` }];

/** Everything of every kind that a tenant can have, made by its owner. */
export async function belongingsOf(owner: Caller, url: string): Promise<Belonging[]> {
  return [
    ...(await responses(owner)),
    ...(await ofConnections(owner, url)),
    ...(await items(owner)),
    ...(await conversations(owner)),
    ...(await sealed(owner)),
    // What runs comes last: it takes the only place for background responses.
    ...(await inBackground(owner)),
  ];
}

/** The id of a response whose stream this is; the rest of it is not waited for. */
async function streamed(owner: Caller, fields: object): Promise<string> {
  const { body } = await owner.http('POST', '/responses', { stream: true, ...fields });
  const id = /resp_[0-9a-f]+/.exec(body)?.[0];
  if (id === undefined) throw new Error(`there is no response: ${body}`);
  return id;
}

async function responses(owner: Caller): Promise<Belonging[]> {
  const make = async (fields: object) => (await owner.get('POST', '/responses', fields)).id;
  const failed = await failedId(owner);
  const deleted = await make({ input: said('deleted') });
  await owner.get('DELETE', `/responses/${deleted}`);
  return [
    { kind: 'a stored response', id: await make({ input: said('stored') }), uses: ALL },
    {
      kind: 'an incomplete response',
      id: await make({ input: said('cut'), max_output_tokens: 9 }),
      uses: ALL,
    },
    { kind: 'a warm-up', id: await make({ input: said('warm'), generate: false }), uses: ALL },
    { kind: 'a response with an image', id: await make({ input: [image(), ...said('seen')] }), uses: ALL },
    { kind: 'a failed response', id: failed, uses: KEPT },
    { kind: 'a deleted response', id: deleted, uses: [] },
    { kind: 'a response that is not stored', id: await make({ input: said('x'), store: false }), uses: [] },
  ];
}

/** A response that has failed, of which its client knows from the stream. */
async function failedId(owner: Caller): Promise<string> {
  const answer = await fetch(`${owner.url}/v1/responses`, {
    method: 'POST',
    headers: bearer(owner.key),
    body: JSON.stringify({ model: 'sim', stream: true, input: 'x [sim status=500]' }),
  });
  return /resp_[0-9a-f]+/.exec(await answer.text())?.[0] ?? '';
}

function image(): object {
  return { role: 'user', content: [{ type: 'input_image', image_url: dataUrl(png(8, 8)) }] };
}

async function ofConnections(owner: Caller, url: string): Promise<Belonging[]> {
  const create = async (client: SocketClient, fields: object) =>
    terminalOf(await client.create({ store: false, input: said('here'), ...fields })).response.id;
  const { socket } = owner;
  const parent = await create(socket, {});
  const lost = await SocketClient.connect(url, '/v1/responses', bearer(owner.key));
  const parked = await create(lost, {});
  lost.socket.terminate();
  await lost.untilClosed();
  const closed = await SocketClient.connect(url, '/v1/responses', bearer(owner.key));
  const gone = await create(closed, {});
  closed.close();
  await closed.untilClosed();
  const running = async (lane: string, store: boolean) => {
    const from = socket.events.length;
    socket.send({ type: 'response.create', model: 'sim', store, input: STALLED, stream_id: lane });
    const mine = () => socket.events.slice(from).filter(({ stream_id }) => stream_id === lane);
    await socket.until(() => mine().some(({ type }) => type.endsWith('.delta')));
    return mine()[0]?.response?.id ?? '';
  };
  const open = await opened(owner);
  const overHttp = await heldStream(owner);
  return [
    { kind: 'a response of its connection', id: parent, uses: HERE, isBound: true },
    {
      kind: 'a warm-up of its connection',
      id: await create(socket, { generate: false }),
      uses: HERE,
      isBound: true,
    },
    {
      kind: 'a stored response behind one that is not',
      id: await create(socket, { store: true, previous_response_id: parent }),
      uses: [...ALL, 'control'],
    },
    {
      kind: 'a stored response of its connection',
      id: await create(socket, { store: true }),
      uses: [...ALL, 'control'],
    },
    { kind: 'a response of a lost connection', id: parked, uses: HERE },
    { kind: 'a response of a closed connection', id: gone, uses: [] },
    { kind: 'a running response', id: await running('one', true), uses: ENDED, isBound: true },
    {
      kind: 'a running response, not stored',
      id: await running('two', false),
      uses: ['control'],
      isBound: true,
    },
    { kind: 'a running response over HTTP', id: overHttp, uses: [] },
    { kind: 'an open response', id: open.response, uses: ENDED, isBound: true },
    { kind: 'a call of an open response', id: open.call, uses: ['call'], isBound: true },
  ];
}

/** A response that waits for the outputs of its calls, in a lane of its own. */
export async function opened({ socket }: Caller): Promise<{ response: string; call: string }> {
  socket.send({
    type: 'response.create',
    model: 'sim',
    append: true,
    stream_id: 'open',
    tools: [LOOK],
    input: 'look twice [sim parallel=2]',
  });
  const done = () => socket.events.find(({ type }) => type === 'response.done');
  await socket.until(() => done() !== undefined);
  const [call] = done()?.['output'] as WireItem[];
  return { response: String(done()?.['response_id']), call: call?.call_id ?? '' };
}

/** Streams that are not read on. What nobody refers to is closed by the garbage collector. */
const HELD: ReadableStreamDefaultReader<Uint8Array>[] = [];

/** A response that runs and whose client waits. */
async function heldStream(owner: Caller): Promise<string> {
  const answer = await fetch(`${owner.url}/v1/responses`, {
    method: 'POST',
    headers: bearer(owner.key),
    body: JSON.stringify({ model: 'sim', stream: true, input: STALLED }),
  });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  HELD.push(reader);
  const { value } = await reader.read();
  return /resp_[0-9a-f]+/.exec(Buffer.from(value ?? []).toString())?.[0] ?? '';
}

async function inBackground(owner: Caller): Promise<Belonging[]> {
  const accept = (fields: object) => owner.get('POST', '/responses', { background: true, ...fields });
  const until = async (id: string, isReached: (status: string) => boolean) => {
    for (;;) {
      const { status } = await owner.get<{ status: string }>('GET', `/responses/${id}`);
      if (isReached(status)) return id;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const ended = async (input: unknown) =>
    until(
      await streamed(owner, { background: true, input }),
      (status) => !['queued', 'in_progress'].includes(status),
    );
  const done = await ended(said('background'));
  const failed = await ended('x [sim status=500]');
  const running = await streamed(owner, { background: true, input: STALLED });
  await until(running, (status) => status === 'in_progress');
  const cancelled = (await accept({ input: said('never') })).id;
  await owner.get('POST', `/responses/${cancelled}/cancel`);
  return [
    { kind: 'an ended background response', id: done, uses: ALL },
    { kind: 'a failed background response', id: failed, uses: KEPT },
    { kind: 'a cancelled background response', id: cancelled, uses: KEPT },
    { kind: 'a running background response', id: running, uses: KEPT },
    { kind: 'a queued background response', id: (await accept({ input: said('queued') })).id, uses: KEPT },
    {
      kind: 'a queued background response with a stream',
      id: await streamed(owner, { background: true, input: said('queued') }),
      uses: KEPT,
    },
  ];
}

/** An item of every type there is, of a stored response, and some of others. */
async function items(owner: Caller): Promise<Belonging[]> {
  const each = Object.values(everyItem((place) => place)).flat();
  const list = async (id: string) => {
    const { data } = await owner.get<{ data: WireItem[] }>('GET', `/responses/${id}/input_items?limit=100`);
    return data;
  };
  const stored = await owner.get<Made>('POST', '/responses', {
    // Ids of the server's, but for that one which another item refers to.
    input: [...each, ...said('items')].map((item) =>
      (item as WireItem).type === 'mcp_approval_request' ? item : { ...item, id: undefined },
    ),
  });
  const called = await owner.get<Made>('POST', '/responses', {
    tools: [LOOK],
    input: 'look [sim calls=1 reason=8]',
  });
  const seen = await owner.get<Made>('POST', '/responses', { input: [image(), ...said('seen')] });
  const hidden = await owner.get<Made>('POST', '/responses', { input: said('hidden'), store: false });
  const of = (kind: string, entries: readonly WireItem[], uses: readonly Use[]): Belonging[] =>
    entries.map(({ id = '', type }, index) => ({ kind: `${kind}: ${type}`, id, uses, isItem: index > 0 }));
  return [
    ...of('an item of a request', await list(stored.id), ['reference']),
    ...of('an item of an output', [...stored.output, ...called.output], ['reference']),
    ...of('an item with an image', (await list(seen.id)).slice(-1), ['reference']),
    ...of('an item that is not stored', hidden.output, []),
  ];
}

async function conversations(owner: Caller): Promise<Belonging[]> {
  const { id } = await owner.get('POST', '/conversations', { items: said('opening'), metadata: { a: 'b' } });
  const { id: response } = await owner.get('POST', '/responses', { conversation: id, input: said('turn') });
  const { data } = await owner.get<{ data: WireItem[] }>('GET', `/conversations/${id}/items`);
  const deleted = (await owner.get('POST', '/conversations', { items: said('gone') })).id;
  await owner.get('DELETE', `/conversations/${deleted}`);
  return [
    { kind: 'a conversation', id, uses: ['conversation'] },
    { kind: 'a deleted conversation', id: deleted, uses: [] },
    { kind: 'a response of a conversation', id: response, uses: ALL },
    ...data.map((item, index) => ({
      kind: `item ${index} of a conversation: ${item.type}`,
      id: item.id ?? '',
      conversation: id,
      uses: ['reference', 'item', 'cursor'] as const,
      isItem: true,
    })),
  ];
}

async function sealed(owner: Caller): Promise<Belonging[]> {
  const { output: thought } = await owner.get<Made>('POST', '/responses', {
    input: 'think [sim calls=0 reason=8]',
    reasoning: { effort: 'medium' },
  });
  const { output: summary } = await owner.get<Made>('POST', '/responses', {
    input: [...said('long'), { type: 'compaction_trigger' }],
  });
  const content = (output: readonly WireItem[]) => String(output[0]?.['encrypted_content']);
  return [
    { kind: 'sealed reasoning', id: content(thought), uses: ['reasoning'] },
    { kind: 'a sealed summary', id: content(summary), uses: ['compaction'] },
  ];
}

/** A name of the same form that never was one. */
export function ghostOf({ id, conversation }: Name): Name {
  return { id: ghost(id), ...(conversation !== undefined && { conversation: ghost(conversation) }) };
}

function ghost(id: string): string {
  if (!id.startsWith('tp1.'))
    return id.replace(/[0-9a-f]{48}$|.{4}$/, (end) => randomBytes(24).toString('hex').slice(0, end.length));
  // The key that it says it was sealed with stays.
  const bytes = Buffer.from(id.slice(4), 'base64url');
  randomBytes(bytes.length - 4).copy(bytes, 4);
  return `tp1.${bytes.toString('base64url')}`;
}
