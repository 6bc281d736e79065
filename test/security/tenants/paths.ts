import type { Answer, Caller, Frame } from './caller.js';

/** Something of somebody's, as it is named in a request. */
export interface Name {
  readonly id: string;
  /** The conversation that it is in. */
  readonly conversation?: string | undefined;
}

/** Whoever asks, with what is their own: what a request needs beside the name that it is about. */
export interface Asker {
  readonly caller: Caller;
  readonly conversation: string;
  readonly response: string;
}

/** What a name can do on a path. A kind of name lists those in which it does something for its owner. */
export type Use =
  | 'continue'
  | 'continue on its connection'
  | 'conversation'
  | 'reference'
  | 'reasoning'
  | 'compaction'
  | 'read'
  | 'cancel'
  | 'delete'
  | 'item'
  | 'cursor'
  | 'control'
  | 'call'
  | 'nothing';

/** One way in which a name can be used. */
export interface Path {
  /** Route, or event of the WebSocket. */
  readonly at: string;
  readonly how: string;
  readonly use: Use;
  ask(asker: Asker, name: Name): Promise<Answer>;
}

const INPUT = [{ type: 'message', role: 'user', content: 'hello [sim calls=0 reason=0]' }];
const sealed = (type: 'reasoning' | 'compaction', { id }: Name) => [
  { type, summary: [], encrypted_content: id },
  ...INPUT,
];

/** Ways in which the body of a request names something, and what for. */
const FIELDS: readonly (readonly [how: string, use: Use, (name: Name, asker: Asker) => object])[] = [
  ['previous_response_id', 'continue', ({ id }) => ({ previous_response_id: id, input: INPUT })],
  ['conversation', 'conversation', ({ id }) => ({ conversation: id, input: INPUT })],
  ['conversation.id', 'conversation', ({ id }) => ({ conversation: { id }, input: INPUT })],
  ['item_reference', 'reference', ({ id }) => ({ input: [{ type: 'item_reference', id }, ...INPUT] })],
  ['a reference without type', 'reference', ({ id }) => ({ input: [{ id }, ...INPUT] })],
  ['reasoning', 'reasoning', (name) => ({ input: sealed('reasoning', name) })],
  ['compaction', 'compaction', (name) => ({ input: sealed('compaction', name) })],
  ['call_id', 'nothing', ({ id }) => ({ input: [output(id), ...INPUT] })],
  [
    'call_id behind a response of its own',
    'nothing',
    ({ id }, { response }) => ({ previous_response_id: response, input: [output(id), ...INPUT] }),
  ],
  ['model', 'nothing', ({ id }) => ({ model: id, input: INPUT })],
];

function output(call_id: string): object {
  return { type: 'function_call_output', call_id, output: 'x' };
}

/** Outputs of a call and of none: what is said tells whether the first is known, and neither is taken. */
function callAndNone(call_id: string): object[] {
  return [output(call_id), output('call_none')];
}

function path(at: string, how: string, use: Use, ask: Path['ask']): Path {
  return { at, how, use, ask };
}

/** The fields of these uses. */
const OF = (...uses: readonly Use[]) => FIELDS.filter(([, use]) => uses.includes(use));
const VARIED = OF('continue', 'conversation', 'reference', 'reasoning');

/** Bodies that name something, at this address and with these fields more. */
function bodies(at: string, how: string, more: object, fields: typeof FIELDS = VARIED): Path[] {
  const [method = '', address = ''] = at.split(' ');
  return fields.map(([field, use, named]) =>
    path(at, `${field}${how}`, use, (asker, name) =>
      asker.caller.http(method, address, { ...named(name, asker), ...more }),
    ),
  );
}

function frames(how: string, more: Frame, fields: typeof FIELDS = VARIED): Path[] {
  return fields.map(([field, use, named]) => {
    const here = use === 'continue' ? 'continue on its connection' : use;
    return path('response.create', `${field}${how}`, here, (asker, name) =>
      asker.caller.create({ ...named(name, asker), ...more }),
    );
  });
}

const get = (at: string, how: string, use: Use, address: (name: Name, asker: Asker) => string): Path => {
  const [method = ''] = at.split(' ');
  return path(at, how, use, (asker, name) => asker.caller.http(method, address(name, asker)));
};
const post = (
  at: string,
  how: string,
  use: Use,
  address: (name: Name, asker: Asker) => string,
  body: (name: Name) => object,
): Path => path(at, how, use, (asker, name) => asker.caller.http('POST', address(name, asker), body(name)));

/** Ways of putting items into a conversation that name something. */
const ITEMS: readonly (readonly [how: string, use: Use, (name: Name) => object])[] = [
  ['item_reference', 'reference', ({ id }) => ({ items: [{ type: 'item_reference', id }] })],
  ['reasoning', 'reasoning', (name) => ({ items: sealed('reasoning', name) })],
  ['compaction', 'compaction', (name) => ({ items: sealed('compaction', name) })],
];

const own = (_: Name, { conversation }: Asker) => `/conversations/${conversation}/items`;
const itemOf = ({ id, conversation }: Name, asker: Asker) =>
  `/conversations/${conversation ?? asker.conversation}/items/${id}`;

/** Every path on which a name can be used. What destroys comes last. */
export const PATHS: readonly Path[] = [
  ...bodies('POST /responses', '', {}, FIELDS),
  ...bodies('POST /responses', ', streamed', { stream: true }),
  // A conversation is nothing for what is not stored.
  ...bodies('POST /responses', ', not stored', { store: false }, OF('continue', 'reference')),
  ...bodies('POST /responses', ', warm-up', { generate: false }),
  ...bodies('POST /responses', ', in the background', { background: true }),
  ...bodies('POST /responses/input_tokens', '', {}, FIELDS),
  ...bodies('POST /responses/compact', '', {}, FIELDS),
  get('GET /responses/{id}', 'read', 'read', ({ id }) => `/responses/${id}`),
  get('GET /responses/{id}', 'streamed', 'read', ({ id }) => `/responses/${id}?stream=true`),
  get('GET /responses/{id}', 'resumed', 'read', ({ id }) => `/responses/${id}?stream=true&starting_after=0`),
  get('GET /responses/{id}/input_items', 'listed', 'read', ({ id }) => `/responses/${id}/input_items`),
  get(
    'GET /responses/{id}/input_items',
    'as a cursor',
    'nothing',
    ({ id }, { response }) => `/responses/${response}/input_items?after=${id}`,
  ),
  ...ITEMS.map(([how, use, body]) => post('POST /conversations', how, use, () => '/conversations', body)),
  get('GET /conversations/{id}', 'read', 'conversation', ({ id }) => `/conversations/${id}`),
  post(
    'POST /conversations/{id}',
    'changed',
    'conversation',
    ({ id }) => `/conversations/${id}`,
    () => ({ metadata: { changed: 'yes' } }),
  ),
  get('GET /conversations/{id}/items', 'listed', 'conversation', ({ id }) => `/conversations/${id}/items`),
  get(
    'GET /conversations/{id}/items',
    'as a cursor',
    'cursor',
    (name, asker) => `${own(name, asker)}?after=${name.id}`,
  ),
  post(
    'POST /conversations/{id}/items',
    'added to',
    'conversation',
    ({ id }) => `/conversations/${id}/items`,
    () => ({ items: INPUT }),
  ),
  ...ITEMS.map(([how, use, body]) => post('POST /conversations/{id}/items', how, use, own, body)),
  get('GET /conversations/{id}/items/{id}', 'an item', 'item', itemOf),
  get(
    'GET /conversations/{id}/items/{id}',
    'another conversation',
    'conversation',
    ({ id }) => `/conversations/${id}/items/msg_none`,
  ),
  get('GET /models/{id}', 'read', 'nothing', ({ id }) => `/models/${id}`),
  ...frames('', {}, FIELDS),
  ...frames(', on a lane', { stream_id: 'lane' }),
  ...frames(', not stored', { store: false }, OF('continue', 'reference')),
  ...frames(', warm-up', { generate: false }),
  path('response.processed', 'noticed', 'nothing', async ({ caller }, { id }) => {
    // Nothing is said to it: the next answer is to what comes next.
    caller.socket.send({ type: 'response.processed', response_id: id });
    return caller.frame('response.none', {});
  }),
  path('response.inject', 'answered', 'control', ({ caller }, { id }) =>
    caller.frame('response.inject', { response_id: id, input: [output('call_none')] }),
  ),
  path('response.append', 'answered', 'control', ({ caller }, { id }) =>
    caller.frame('response.append', { response_id: id, input: [output('call_none')] }),
  ),
  path('response.inject', 'call_id', 'call', ({ caller }, { id }) =>
    caller.frame('response.inject', { response_id: openOf(caller), input: callAndNone(id) }),
  ),
  path('response.append', 'call_id', 'call', ({ caller }, { id }) =>
    caller.frame('response.append', { response_id: openOf(caller), input: callAndNone(id) }),
  ),
  path('response.steer', 'steered', 'control', ({ caller }, { id }) =>
    caller.frame('response.steer', { previous_response_id: id, input: 'turn around' }),
  ),
  path('response.interrupt', 'interrupted', 'control', ({ caller }, { id }) =>
    caller.frame('response.interrupt', { response_id: id }),
  ),
  post(
    'POST /responses/{id}/cancel',
    'cancelled',
    'cancel',
    ({ id }) => `/responses/${id}/cancel`,
    () => ({}),
  ),
  get('DELETE /conversations/{id}/items/{id}', 'an item', 'item', itemOf),
  get('DELETE /responses/{id}', 'deleted', 'delete', ({ id }) => `/responses/${id}`),
  get('DELETE /conversations/{id}', 'deleted', 'conversation', ({ id }) => `/conversations/${id}`),
];

/** Routes that name nothing. */
export const NAMELESS: Readonly<Record<string, string>> = {
  'GET /responses': 'explains that this is for upgrades',
  'GET /models': 'lists what is configured',
  'GET /health': 'says whether work is taken',
};

/** The response of a caller that is open for outputs: the last that has begun. */
function openOf({ socket }: Caller): string {
  return socket.events.findLast(({ type }) => type === 'response.done')?.['response_id'] as string;
}
