import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, FAST, MAIN } from './platform.js';
import { SocketClient } from './socket-client.js';

/** What the configuration lets in from the start. */
const OPERATOR = 'operator-of-the-tests';

/** A thousand nano-dollars a token of input, two thousand a token of output. */
const PRICES = 'versions: [{ version: test, from: "2026-01-01", models: { sim: { input: 1, output: 2 } } }]';

interface ApiKeyObject {
  readonly id: string;
  readonly value: string;
  readonly [field: string]: unknown;
}

let folder: string;
let gateway: App;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-keys-'));
  const sha256 = createHash('sha256').update(OPERATOR).digest('hex');
  writeFileSync(join(folder, 'prices.yaml'), PRICES);
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    `port: 0\nkeys: [{ name: ops, tenant: ops, sha256: ${sha256}, scopes: [operator] }]\nbilling: { prices: prices.yaml }\n`,
  );
  gateway = await App.start('gateway', ['--config', 'turnpike.yaml', `--sim=${FAST.join(' ')}`], {}, folder);
  for (const id of ['acme', 'other']) await admin('POST', 'tenants', { id });
});

afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function call(method: string, path: string, key: string | undefined, body?: unknown) {
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}

async function admin(method: string, path: string, body?: unknown, key = OPERATOR) {
  return call(method, `/admin/v1/${path}`, key, body);
}

async function makeKey(fields: Record<string, unknown> = {}): Promise<ApiKeyObject> {
  const { status, body } = await admin('POST', 'keys', { tenant: 'acme', name: 'laptop', ...fields });
  expect(status).toBe(200);
  return body as ApiKeyObject;
}

const say = (key: string | undefined, model = 'sim') =>
  call('POST', '/v1/responses', key, { model, input: 'hi' });
// Not in the way of the event loop: connections that the server closes meanwhile have to be noticed.
const run = promisify(execFile);
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** What the command line says, in the same folder. */
function commandLine(...args: string[]) {
  const main = MAIN.gateway.replace('main.js', 'admin.js');
  return run(process.execPath, [main, '--config', 'turnpike.yaml', ...args], { cwd: folder, env: {} });
}

describe('a key', () => {
  it('is good at once, and stops being so when it is revoked', async () => {
    const key = await makeKey();
    expect((await say(key.value)).status).toBe(200);
    expect((await say(undefined)).status).toBe(401);
    expect(await admin('POST', `keys/${key.id}/revoke`)).toMatchObject({ body: { status: 'revoked' } });
    expect(await say(key.value)).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } });
    expect(await admin('POST', `keys/${key.id}/rotate`)).toMatchObject({ status: 400 });
  });

  it('that was made on the command line is good at once too', async () => {
    const { stdout } = await commandLine('keys', 'create', '--tenant', 'acme', '--name', 'ci', '--json');
    const key = JSON.parse(stdout) as ApiKeyObject;
    expect((await say(key.value)).status).toBe(200);
    expect((await commandLine('keys', 'list', '--tenant', 'acme')).stdout).toMatch(
      new RegExp(`^${key.id} +acme +ci +tpk_.{8}\\.\\.\\. +active`, 'm'),
    );
    expect((await commandLine('keys', 'list')).stdout).not.toContain(key.value);
  });

  it('that is revoked ends what it has open: at the next turn, after the one that runs', async () => {
    const key = await makeKey();
    const client = await SocketClient.connect(gateway.url, '/v1/responses', bearer(key.value));
    expect((await client.create({ input: 'a' })).at(-1)?.type).toBe('response.completed');
    await admin('POST', `keys/${key.id}/revoke`);
    const [event] = await client.create({ input: 'b', stream_id: 'lane' });
    expect(event).toMatchObject({ type: 'error', status: 401, error: { code: 'invalid_api_key' } });
    await client.until(() => client.closed !== undefined);
    expect(client.closed?.code).toBe(1008);
    await expect(SocketClient.connect(gateway.url, '/v1/responses', bearer(key.value))).rejects.toThrow(
      '401',
    );
  });

  it('with a budget that is spent is refused at its next turn, over both transports; others are not', async () => {
    const key = await makeKey();
    const client = await SocketClient.connect(gateway.url, '/v1/responses', bearer(key.value));
    // Room for two: each holds its worst case, input and 60 tokens of output, less than 250 millionths of a dollar.
    await admin('POST', 'budgets', { tenant: 'acme', key: key.id, amount_usd: '0.0005', period: 'day' });
    const turn = { model: 'sim', input: 'hi', max_output_tokens: 60 };
    expect((await client.create(turn)).at(-1)?.type).toBe('response.completed');
    expect((await call('POST', '/v1/responses', key.value, turn)).status).toBe(200);
    expect(await call('POST', '/v1/responses', key.value, turn)).toMatchObject({
      status: 429,
      body: { error: { type: 'insufficient_quota', code: 'insufficient_quota' } },
    });
    expect((await client.create(turn)).at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'insufficient_quota' } },
    });
    client.close();
    expect((await say((await makeKey()).value)).status).toBe(200);
  });

  it('uses the models that it may, over both transports; others are as unknown as those that are not there', async () => {
    const key = await makeKey({ models: ['elsewhere'] });
    const refused = await say(key.value, 'sim');
    expect(refused).toMatchObject({
      status: 404,
      body: { error: { code: 'model_not_found', param: 'model' } },
    });
    const unknown = await say((await makeKey()).value, 'nosuch');
    expect(JSON.stringify(refused.body).replace("'sim'", "'nosuch'")).toBe(JSON.stringify(unknown.body));
    expect(await call('GET', '/v1/models/sim', key.value)).toMatchObject(refused);
    expect((await call('GET', '/v1/models', key.value)).body['data']).toEqual([]);
    const client = await SocketClient.connect(gateway.url, '/v1/responses', bearer(key.value));
    expect((await client.create({ input: 'a' }))[0]).toMatchObject({ error: { code: 'model_not_found' } });
    await admin('POST', `keys/${key.id}`, { models: ['sim'] });
    expect((await client.create({ input: 'a' })).at(-1)?.type).toBe('response.completed');
    client.close();
    for (const path of ['/v1/responses/input_tokens', '/v1/responses/compact']) {
      const body = { model: 'elsewhere', input: 'hi' };
      expect((await call('POST', path, key.value, body)).status).toBe(404);
    }
  });

  it('that is rotated is a new one at once, and the old one for as long as was said', async () => {
    const key = await makeKey();
    const grace = (await admin('POST', `keys/${key.id}/rotate`, { grace_seconds: 600 })).body as ApiKeyObject;
    expect(grace).toMatchObject({ id: key.id, object: 'api_key' });
    expect((await say(key.value)).status).toBe(200);
    expect((await say(grace.value)).status).toBe(200);
    const last = (await admin('POST', `keys/${key.id}/rotate`)).body as ApiKeyObject;
    expect([(await say(grace.value)).status, (await say(last.value)).status]).toEqual([401, 200]);
  });

  it('does what its scopes say', async () => {
    const billing = await makeKey({ scopes: ['billing'] });
    expect(await say(billing.value)).toMatchObject({
      status: 403,
      body: { error: { code: 'insufficient_permissions', type: 'permission_error' } },
    });
    expect((await admin('GET', 'keys', undefined, billing.value)).status).toBe(403);
    expect((await say(OPERATOR)).status).toBe(403);
    await expect(SocketClient.connect(gateway.url, '/v1/responses', bearer(billing.value))).rejects.toThrow(
      '403',
    );
  });

  it('is nowhere but with its owner', async () => {
    const key = await makeKey();
    await say(key.value);
    await say(`${key.value}x`);
    const files = readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(files.map(({ name }) => name)).toContain('turnpike.db');
    for (const file of files) {
      expect(readFileSync(join(file.parentPath, file.name)).includes(key.value)).toBe(false);
    }
    expect(gateway.output()).not.toContain(key.value);
    expect(JSON.stringify(await admin('GET', `keys/${key.id}`))).not.toContain(key.value);
  });
});

describe('the admin of a tenant', () => {
  let boss: string;
  let foreign: ApiKeyObject;
  beforeAll(async () => {
    boss = (await makeKey({ scopes: ['admin'] })).value;
    foreign = await makeKey({ tenant: 'other', name: 'secret-project' });
    await admin('POST', 'budgets', { tenant: 'other', amount_usd: '1', period: 'day' });
  });
  const asBoss = (method: string, path: string, body?: unknown) => admin(method, path, body, boss);

  it('sees nothing of another', async () => {
    for (const path of [
      'keys?limit=100',
      'tenants',
      'budgets',
      'keys?tenant=other',
      'tenants?tenant=other',
    ]) {
      expect(JSON.stringify(await asBoss('GET', path))).not.toMatch(/other|secret-project/);
    }
    const ghost = 'key_000000000000000000000000';
    const paths = [
      ['GET', ''],
      ['POST', ''],
      ['POST', '/rotate'],
      ['POST', '/revoke'],
    ] as const;
    for (const [method, rest] of paths) {
      const said = await asBoss(method, `keys/${foreign.id}${rest}`);
      expect(said.status).toBe(404);
      expect(JSON.stringify(said).replace(foreign.id, ghost)).toBe(
        JSON.stringify(await asBoss(method, `keys/${ghost}${rest}`)),
      );
    }
    const cursor = await asBoss('GET', `keys?after=${foreign.id}`);
    expect(cursor).toEqual(await asBoss('GET', `keys?after=${ghost}`));
    expect((await say(foreign.value)).status).toBe(200);
  });

  it('makes nothing for another, and no operators', async () => {
    const budget = { amount_usd: 1, period: 'day' };
    const tries = [
      [400, await asBoss('POST', 'keys', { tenant: 'other', name: 'x' })],
      [400, await asBoss('POST', 'keys', { tenant: 'nobody', name: 'x' })],
      [403, await asBoss('POST', 'keys', { name: 'x', scopes: ['operator'] })],
      [403, await asBoss('POST', 'tenants', { id: 'mine' })],
      [400, await asBoss('POST', 'budgets', { ...budget, tenant: 'other', key: foreign.id })],
      [400, await asBoss('POST', 'budgets', { ...budget, key: foreign.id })],
      [403, await asBoss('POST', 'budgets', { ...budget })],
      [403, await asBoss('POST', 'budgets', { ...budget, model: 'sim' })],
    ] as const;
    for (const [status, said] of tries) expect([said.status, said.body]).toEqual([status, said.body]);
    const operator = await makeKey({ scopes: ['operator'] });
    for (const path of ['', '/rotate', '/revoke']) {
      expect((await asBoss('POST', `keys/${operator.id}${path}`)).status).toBe(403);
    }
    const { id } = (await admin('POST', 'budgets', { ...budget, tenant: 'acme' })).body as { id: string };
    expect((await asBoss('DELETE', `budgets/${id}`)).status).toBe(403);
  });

  it('gives its own people keys and budgets', async () => {
    const key = (await asBoss('POST', 'keys', { name: 'dev', scopes: ['inference', 'billing'] })).body;
    expect(key).toMatchObject({ tenant: 'acme', status: 'active', models: null });
    expect((await say(String(key['value']))).status).toBe(200);
    const budget = { key: key['id'], amount_usd: '0.50', period: 'month', shadow: true };
    const made = await asBoss('POST', 'budgets', budget);
    expect(made.body).toMatchObject({ ...budget, amount_usd: '0.5', tenant: 'acme', model: null });
    expect((await asBoss('DELETE', `budgets/${String(made.body['id'])}`)).body).toMatchObject({
      deleted: true,
    });
  });
});

describe('the admin API', () => {
  it('is for keys of admins, and no one else', async () => {
    const { value } = await makeKey();
    for (const key of [undefined, 'nobody', value]) {
      for (const path of ['keys', 'tenants', 'budgets']) {
        expect((await call('GET', `/admin/v1/${path}`, key)).status).toBe(key === value ? 403 : 401);
      }
    }
  });

  it.each([
    ['keys', { tenant: 'acme' }, 'missing_required_parameter', 'name'],
    ['keys', { tenant: 'acme', name: '' }, 'invalid_value', 'name'],
    ['keys', { tenant: 'acme', name: 'x', scopes: [] }, 'invalid_value', 'scopes'],
    ['keys', { tenant: 'acme', name: 'x', scopes: ['root'] }, 'invalid_value', 'scopes[0]'],
    ['keys', { tenant: 'acme', name: 'x', models: [1] }, 'invalid_value', 'models[0]'],
    ['keys', { tenant: 'acme', name: 'x', expires_at: -1 }, 'invalid_value', 'expires_at'],
    ['keys', { tenant: 'acme', name: 'x', expires_at: 1_700_000_000 }, 'invalid_value', 'expires_at'],
    ['keys', { tenant: 'acme', name: 'x', admin: true }, 'unsupported_parameter', 'admin'],
    ['keys', { tenant: 'nobody', name: 'x' }, 'invalid_value', 'tenant'],
    ['keys', [], 'invalid_type', null],
    ['tenants', { id: '../etc' }, 'invalid_value', 'id'],
    ['tenants', { id: 'acme' }, 'invalid_value', 'id'],
    ['budgets', { tenant: 'acme', amount_usd: -1, period: 'day' }, 'invalid_value', 'amount_usd'],
    ['budgets', { tenant: 'acme', amount_usd: '1e3', period: 'day' }, 'invalid_value', 'amount_usd'],
    ['keys', { tenant: 'acme', name: 'a\0b' }, 'invalid_value', 'name'],
    ['keys', { tenant: 'acme', name: 'x', models: ['a\nb'] }, 'invalid_value', 'models[0]'],
    ['budgets', { tenant: 'acme', amount_usd: 1 }, 'missing_required_parameter', 'period'],
    ['budgets', { tenant: 'acme', period: 'day' }, 'missing_required_parameter', 'amount_usd'],
    ['budgets', { tenant: 'acme', amount_usd: 1, period: 'year' }, 'invalid_value', 'period'],
    ['budgets', { tenant: 'acme', amount_usd: 1, period: 'day', key: 'k' }, 'invalid_value', 'key'],
    ['budgets', { tenant: 'ghost', amount_usd: 1, period: 'day' }, 'invalid_value', 'tenant'],
  ])('refuses %s of %j', async (path, body, code, param) => {
    expect(await admin('POST', path, body)).toMatchObject({ status: 400, body: { error: { code, param } } });
  });

  it('knows nothing by a name that nothing can have', async () => {
    for (const path of ['keys?tenant=%00', 'keys?after=%00']) {
      expect({ path, ...(await admin('GET', path)) }).toMatchObject({ path, status: 400 });
    }
    expect(await admin('GET', 'keys/%00')).toMatchObject({ status: 404 });
    expect(await admin('DELETE', 'budgets/%00')).toMatchObject({ status: 404 });
  });

  it('has pages', async () => {
    const first = (await admin('GET', 'keys?limit=2&order=asc')).body;
    expect(first).toMatchObject({ object: 'list', has_more: true });
    const { data } = (await admin('GET', `keys?limit=1&order=asc&after=${String(first['first_id'])}`)).body;
    expect((data as { id: string }[])[0]?.id).toBe(first['last_id']);
  });
});

it('an open server is one until there is a key', async () => {
  const own = mkdtempSync(join(tmpdir(), 'turnpike-open-'));
  const app = await App.start('gateway', [`--sim=${FAST.join(' ')}`], { PORT: '0' }, own);
  try {
    const post = (key?: string) =>
      fetch(`${app.url}/v1/responses`, {
        method: 'POST',
        body: JSON.stringify({ model: 'sim', input: 'hi' }),
        ...(key === undefined ? {} : { headers: bearer(key) }),
      });
    expect((await post()).status).toBe(200);
    expect((await fetch(`${app.url}/admin/v1/keys`)).status).toBe(403);
    const client = await SocketClient.connect(app.url);
    const main = MAIN.gateway.replace('main.js', 'admin.js');
    const inOwn = (...args: string[]) => run(process.execPath, [main, ...args], { cwd: own, env: {} });
    await inOwn('tenants', 'create', 'first');
    const { stdout } = await inOwn('keys', 'create', '--tenant', 'first', '--name', 'k', '--json');
    while ((await post()).status === 200) await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await post()).status).toBe(401);
    expect((await post((JSON.parse(stdout) as ApiKeyObject).value)).status).toBe(200);
    expect((await client.create({ input: 'a' }))[0]).toMatchObject({ error: { code: 'invalid_api_key' } });
  } finally {
    await app.stop();
    rmSync(own, { recursive: true, force: true });
  }
});
