import { expect } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { SocketClient } from '../../e2e/socket-client.js';
import { completed, user, type Run } from './run.js';

/** Bodies that are refused, each for another reason, over HTTP. */
export async function badBodies(run: Run): Promise<void> {
  const text = (place: string) => run.passing(`bad_${place}`);
  const input = (place: string) => [user(text(place))];
  const bodies: [string | Buffer, string, Record<string, string>?][] = [
    [`{"input": "${text('json')}`, 'invalid_json'],
    [Buffer.from([0x22, 0xff, ...Buffer.from(text('utf'))]), 'invalid_json'],
    [
      Buffer.concat([gzipSync(text('gzip')).subarray(0, 20), Buffer.from(text('gzip'))]),
      'invalid_json',
      { 'content-encoding': 'gzip' },
    ],
    [text('coding'), 'unsupported_encoding', { 'content-encoding': text('coding') }],
    [JSON.stringify(text('string')), 'invalid_type'],
    [`${'['.repeat(300)}"${text('deep')}"`, 'json_too_deep'],
    [text('large').repeat(50_000), 'body_too_large'],
  ];
  for (const [body, code, headers] of bodies) {
    const got = await run.send(body, headers === undefined ? {} : { headers });
    expect(JSON.parse(got.text)).toMatchObject({ error: { code } });
  }
  const item = (fields: object) => [{ ...fields, note: text('item') }, user(text('item'))];
  const refused: [Record<string, unknown>, string][] = [
    [{ model: text('model'), input: input('model_input') }, 'model_not_found'],
    [{ input: input('temperature'), temperature: text('temperature') }, 'invalid_type'],
    [{ input: input('truncation'), truncation: text('truncation') }, 'invalid_value'],
    [{ input: input('include'), include: [text('include')] }, 'invalid_value'],
    [{ input: input('metadata'), metadata: { [text('metadata')]: 1 } }, 'invalid_type'],
    [{ input: input('prompt'), prompt: { id: text('prompt') } }, 'unsupported_parameter'],
    [{ input: input('stream'), stream_id: text('stream') }, 'unsupported_parameter'],
    [{ input: input('choice'), tool_choice: { type: 'function', name: text('choice') } }, 'invalid_value'],
    [{ input: input('parent'), previous_response_id: text('parent') }, 'previous_response_not_found'],
    [{ input: input('tool'), tools: [{ type: 'function', name: `${text('tool')} ?` }] }, 'invalid_value'],
    [{ input: item({ type: text('type') }) }, 'invalid_value'],
    [{ input: item({ role: text('role'), content: '' }) }, 'invalid_value'],
    [{ input: item({ type: 'item_reference', id: text('reference') }) }, 'item_not_found'],
    [
      { input: item({ type: 'function_call', call_id: text('call'), name: 'x', arguments: '' }) },
      'tool_output_mismatch',
    ],
    [
      { input: item({ type: 'function_call_output', call_id: text('orphan'), output: '' }) },
      'tool_output_mismatch',
    ],
    [{ input: item({ type: 'compaction', encrypted_content: text('sealed') }) }, 'invalid_encrypted_content'],
    [
      { input: item({ type: 'reasoning', summary: [], encrypted_content: `tp1.${text('reasoning')}` }) },
      'invalid_encrypted_content',
    ],
    [
      {
        input: input('schema'),
        text: { format: { type: 'json_schema', name: 'x', schema: { type: text('schema') } } },
      },
      'invalid_value',
    ],
    [
      {
        input: input('pattern'),
        text: { format: { type: 'json_schema', name: 'x', schema: { pattern: `(${text('pattern')}` } } },
      },
      'invalid_value',
    ],
  ];
  for (const [fields, code] of refused) {
    const { text: answer } = await run.post(fields);
    expect([fields, JSON.parse(answer)]).toMatchObject([fields, { error: { code } }]);
  }
  // That is found out when there is a response already.
  const long = `${run.kept('too_long')} `.repeat(300);
  await run.refuse({ model: 'short', input: long }, 'context_length_exceeded');
  await broken(run);
  // What is made in the background can only be had from the store.
  const { status } = await run.post({ background: true, input: [user(run.kept('background'))] });
  expect(status).toBe(run.options.store ? 200 : 400);
  const conversation = { conversation: text('conversation'), input: input('conversation') };
  await run.refuse(conversation, run.options.store ? 'conversation_not_found' : 'invalid_value');
}

/** What the server has sealed, changed. */
async function broken(run: Run): Promise<void> {
  const { output } = await run.complete({
    input: `${run.kept('sealed_ask')} [sim calls=0 reason=8]`,
    reasoning: { effort: 'medium' },
  });
  const [reasoning] = output;
  const sealed = String(reasoning?.['encrypted_content']);
  for (const encrypted_content of [sealed.slice(0, -5), `${sealed.slice(0, 20)}${run.passing('bad_seal')}`]) {
    await run.refuse(
      { input: [user(run.passing('bad_sealed_ask')), { ...reasoning, encrypted_content }] },
      'invalid_encrypted_content',
    );
  }
}

/** Frames that are refused. */
export async function badFrames(run: Run): Promise<void> {
  const client = await run.socket();
  const text = (place: string) => run.passing(`frame_${place}`);
  const refused = async (frame: unknown, code: string) => {
    const from = client.events.length;
    client.send(frame);
    await client.until(() => client.events.length > from);
    expect(client.events.at(-1)).toMatchObject({ type: 'error', error: { code } });
  };
  await refused(`{"type": "${text('json')}`, 'invalid_json');
  await refused(Buffer.from(text('binary')), 'binary_frame');
  await refused(`["${text('array')}"]`, 'invalid_type');
  await refused({ type: text('type'), input: text('type') }, 'unknown_event_type');
  await refused(
    { type: 'response.create', stream_id: `${text('lane')} ?`, input: text('lane') },
    'invalid_stream_id',
  );
  const create = (fields: object) => ({
    type: 'response.create',
    ...run.body({ input: [user(text('create'))], ...fields }),
  });
  await refused(create({ previous_response_id: text('parent') }), 'previous_response_not_found');
  await refused(create({ background: true }), 'unsupported_parameter');
  await refused(create({ top_p: text('number') }), 'invalid_type');
  const parent = completed(
    await client.create({ store: run.options.store, input: [user(run.kept('orphaned_parent'))] }),
  );
  const orphan = { type: 'custom_tool_call_output', call_id: text('orphan'), output: text('orphan') };
  await refused(create({ previous_response_id: parent.id, input: [orphan] }), 'tool_output_mismatch');
  for (const broken of [Buffer.from(text('large').repeat(50_000)), undefined]) {
    const closing = await run.socket();
    if (broken === undefined) invalidText(closing, text('utf'));
    else closing.send(broken.toString());
    expect([1007, 1009]).toContain((await closing.untilClosed()).code);
  }
}

/** A text frame that is no UTF-8, masked with zeros. */
function invalidText(client: SocketClient, text: string): void {
  const payload = Buffer.concat([Buffer.from([0xff]), Buffer.from(text)]);
  const { _socket: socket } = client.socket as unknown as { _socket: NodeJS.WritableStream };
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload]));
}

/** Text in addresses and headers, of requests that are served and of such that are not. */
export async function addresses(run: Run): Promise<void> {
  const text = (place: string) => run.passing(`address_${place}`);
  const headers = {
    'x-note': text('header'),
    'user-agent': text('agent'),
    cookie: text('cookie'),
    referer: text('referer'),
  };
  await run.complete(
    { input: [user(run.kept('addressed'))] },
    { path: `/v1/responses?${text('query')}=${text('value')}`, headers },
  );
  await run.socket(`/responses?${text('socket_query')}`, { ...headers, 'x-note': text('socket_header') });
  const ask = async (method: string, path: string, more: Record<string, string> = {}) => {
    const answer = await fetch(run.options.url + path, { method, headers: { ...run.headers, ...more } });
    return answer.status;
  };
  const id = text('id');
  for (const [method, path] of [
    ['GET', `/v1/${text('path')}`],
    ['GET', `/v1/responses/${id}`],
    ['GET', `/v1/responses/${id}?stream=true&starting_after=${text('after')}`],
    ['GET', `/v1/responses/${id}/input_items?after=${text('cursor')}`],
    ['DELETE', `/v1/responses/${id}`],
    ['POST', `/v1/responses/${id}/cancel`],
    ['GET', `/v1/conversations/${id}/items/${text('item')}`],
    ['GET', `/v1/models/${text('model')}`],
    ['PUT', `/v1/responses?${text('method')}`],
    ['GET', `/v1/responses/%E0%A4%A${text('broken')}`],
  ] as const) {
    expect([404, 405, 400]).toContain(await ask(method, path));
  }
  expect(await ask('GET', '/v1/models', { authorization: `Bearer ${text('wrong_key')}` })).toBe(401);
  expect(await ask('GET', '/v1/models', { origin: `https://${text('origin')}` })).toBe(403);
  await raw(run);
}

/** Requests that no client library writes. */
async function raw(run: Run): Promise<void> {
  const { port } = new URL(run.options.url);
  const text = (place: string) => run.passing(`raw_${place}`);
  const key = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n`;
  const upgrade = `Connection: upgrade\r\nUpgrade: websocket\r\n`;
  for (const lines of [
    `GET /${text('version')} HTTP/9.9`,
    `${text('method')} / HTTP/1.1`,
    `GET http://x:bad/${text('absolute')}?${text('absolute_query')} HTTP/1.1\r\nHost: localhost`,
    `GET //${text('double')} HTTP/1.1\r\nHost: localhost`,
    `GET /v1/models HTTP/1.1\r\nHost: ${text('host')}\r\n${text('header')} : x`,
    `GET /v1/${text('upgrade')} HTTP/1.1\r\nHost: localhost\r\n${upgrade}${key}`,
    `GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${text('upgrade_key')}\r\n${upgrade}${key}`,
    `GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${run.options.key}\r\nSec-WebSocket-Protocol: ${text('protocol')},,\r\n${upgrade}${key}`,
    `POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${run.options.key}\r\nTransfer-Encoding: chunked\r\n\r\n${text('chunk')}`,
  ]) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(`${lines}\r\n\r\n`);
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  }
  // A client that goes before its body is whole.
  const sent = request(`${run.options.url}/v1/responses`, { method: 'POST', headers: run.headers });
  sent.on('error', () => undefined);
  sent.write(`{"input":"${text('cut')}`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  sent.destroy();
}
