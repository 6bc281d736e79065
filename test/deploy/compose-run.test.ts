import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { SocketClient, terminalOf, type WireEvent } from '../e2e/socket-client.js';
import { startPostgres, startRedis, type PostgresService, type RedisService } from '../e2e/services.js';
import {
  configText,
  copiedByDockerfile,
  readCompose,
  ROOT,
  type ComposeService,
  type Dashboard,
} from './compose.js';

const KEY = { authorization: 'Bearer local-development-only' };
/** Ports of the file that this machine may have in use, and where they are here. */
const ports = new Map<string, number>();
const compose = readCompose();
const running: ChildProcess[] = [];
let redis: RedisService;
let postgres: PostgresService;
let databaseUrl: string;
/** Stands for /app of a container: what the Dockerfile copies, and the volume. */
let app: string;

beforeAll(async () => {
  [redis, postgres] = await Promise.all([startRedis({ own: true }), startPostgres()]);
  databaseUrl = await postgres.database();
  for (const port of ['8686', '8687', '9100', '9464', '9465']) ports.set(port, await freePort());
  app = mkdtempSync(join(tmpdir(), 'turnpike-compose-'));
  mkdirSync(join(app, 'data'));
  for (const path of copiedByDockerfile()) symlinkSync(join(ROOT, path), join(app, path));
  // In the order of depends_on, each once the one before is well.
  for (const name of ['engine', 'gateway', 'billing']) await start(name);
});

afterAll(async () => {
  for (const child of running.reverse()) {
    child.kill('SIGTERM');
    await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(0)));
  }
  await Promise.all([redis.remove(), postgres.remove()]);
  rmSync(app, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const url = (port: string) => `http://127.0.0.1:${ports.get(port)}`;

/** A text of the file as it is true here: the names of containers, their ports, the paths of configs. */
function here(text: string): string {
  let mapped = text
    .replace(/^postgres:\/\/turnpike:[^@]+@postgres:5432\/turnpike$/, databaseUrl)
    .replace(/^redis:\/\/redis:6379$/, redis.url)
    .replaceAll('http://engine:', 'http://127.0.0.1:');
  for (const [port, local] of ports)
    mapped = mapped.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), String(local));
  return mapped.startsWith('/etc/') ? join(app, mapped.replaceAll('/', '_')) : mapped;
}

function serviceOf(name: string): ComposeService & { command: readonly string[] } {
  const service = compose.services[name];
  if (service?.command === undefined) throw new Error(`${name} has no command`);
  return { ...service, command: service.command };
}

/** The environment of a container; the port that an app would listen on by itself is mapped as well. */
function environmentOf({ environment = {}, ports: published = [] }: ComposeService): Record<string, string> {
  const inside = published[0]?.split(':').at(-1);
  const mapped = Object.entries(environment).map(([name, value]) => [name, here(value)]);
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    ...(inside === undefined ? {} : { PORT: here(inside) }),
    ...(Object.fromEntries(mapped) as Record<string, string>),
  };
}

async function start(name: string): Promise<void> {
  const service = serviceOf(name);
  for (const { source, target } of service.configs ?? []) {
    writeFileSync(here(target), here(configText(compose, source)));
  }
  const [, ...args] = service.command.map(here);
  const child = spawn(process.execPath, args, { cwd: app, env: environmentOf(service), stdio: 'pipe' });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)));
  const [, program = '', ...check] = service.healthcheck?.test.map(here) ?? [];
  expect(program).toBe('node');
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${output}`);
    if ((await runIn(name, check)).code === 0) return;
  }
}

/** As `docker compose exec NAME node ...` does. */
function runIn(name: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  const options = { cwd: app, env: environmentOf(serviceOf(name)) };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args.map(here), options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, output: stdout + stderr }),
    );
  });
}

async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const TOOL = {
  type: 'function',
  name: 'read_file',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
};

/** A tool loop over one WebSocket; what each of its responses says that it used. */
async function toolLoop(): Promise<
  { id: string; usage: NonNullable<NonNullable<WireEvent['response']>['usage']> }[]
> {
  const client = await SocketClient.connect(url('8686'), '/v1/responses', KEY);
  const used = [];
  let request: Record<string, unknown> = { input: 'Read notes.txt [sim calls=2]' };
  for (;;) {
    const { response } = terminalOf(await client.create({ ...request, tools: [TOOL] }));
    expect(response.status).toBe('completed');
    if (response.usage === null) throw new Error('a response without usage');
    used.push({ id: response.id, usage: response.usage });
    const calls = response.output.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) break;
    const outputs = calls.map(({ call_id }) => ({
      type: 'function_call_output',
      call_id,
      output: 'Buy milk.',
    }));
    request = { previous_response_id: response.id, input: outputs };
  }
  client.close();
  return used;
}

describe('the services of docker-compose.yml', () => {
  it('take a tool loop to the ledger, where every token is found again', async () => {
    const admin = 'dist/apps/gateway/apps/gateway/src/admin.js';
    expect(await runIn('gateway', [admin, 'tenants', 'create', 'ops'])).toMatchObject({ code: 0 });
    const made = await runIn('gateway', [
      ...[admin, 'keys', 'create', '--tenant', 'ops', '--name', 'me', '--scope', 'operator'],
    ]);
    const operator = { authorization: `Bearer ${/^value +(\S+)$/m.exec(made.output)?.[1]}` };

    const used = await toolLoop();
    expect(used.length).toBeGreaterThan(1);
    for (const { id } of used) {
      const story = await until(async () => {
        const answer = await fetch(`${url('8687')}/billing/v1/responses/${id}`, { headers: operator });
        const text = await answer.text();
        expect([200, 404, text]).toContain(answer.status);
        return answer.status === 200 ? (JSON.parse(text) as { record: Record<string, unknown> }) : undefined;
      });
      expect(story.record).toMatchObject({
        tenant: 'development',
        transport: 'websocket',
        outcome: 'completed',
        priceVersion: '2026-01',
      });
    }
    const today = await fetch(`${url('8687')}/billing/v1/usage?group_by=tenant,model`, { headers: operator });
    const sum = (pick: (usage: (typeof used)[number]['usage']) => number) =>
      used.reduce((all, { usage }) => all + pick(usage), 0);
    expect(await today.json()).toMatchObject({
      data: [
        {
          tenant: 'development',
          model: 'sim',
          turns: used.length,
          input: sum(({ input_tokens }) => input_tokens),
          cached: sum(({ input_tokens_details }) => input_tokens_details.cached_tokens),
          output: sum(({ output_tokens }) => output_tokens),
        },
      ],
    });
    const reconcile = [
      'dist/apps/gateway/apps/gateway/src/billing-cli.js',
      'reconcile',
      '--config',
      '/etc/turnpike.yaml',
    ];
    // What was booked a moment ago may not be acknowledged yet, in the journal or the queue: explained, and gone soon.
    const { code, output } = await until(async () => {
      const said = await runIn('gateway', reconcile);
      expect(said.output).toContain(' unexplained=0 faults=0');
      return said.output.includes('differences=0 ') ? said : undefined;
    });
    expect(output).toContain(`turns in the ledger  ${used.length}\nstored responses     ${used.length}\n`);
    expect(code).toBe(0);
  });

  it('count what the alarms and the dashboard ask for', async () => {
    const texts = await Promise.all(
      ['9464', '9465'].map(async (port) => (await fetch(`${url(port)}/metrics`)).text()),
    );
    const names = (pattern: RegExp, text: string) => [...text.matchAll(pattern)].map(([, name = '']) => name);
    const { groups } = parse(configText(compose, 'alarms')) as { groups: { rules: { expr: string }[] }[] };
    const rules = groups
      .flatMap((group) => group.rules)
      .flatMap(({ expr }) => names(/(turnpike_\w+)/g, expr));
    expect(rules.length).toBeGreaterThan(5);
    expect(names(/^(turnpike_\w+)/gm, texts.join('\n'))).toEqual(expect.arrayContaining(rules));
    const { panels } = JSON.parse(configText(compose, 'dashboard')) as Dashboard;
    const queries = panels.flatMap(({ targets = [] }) => targets);
    const shown = queries.flatMap(({ expr }) => names(/(turnpike_\w+?)(?:_bucket)?\b/g, expr));
    expect(shown.length).toBeGreaterThan(20);
    // What has not happened yet has a type, and no value.
    expect(names(/^# TYPE (turnpike_\w+)/gm, texts.join('\n'))).toEqual(expect.arrayContaining(shown));
    expect(texts.join('\n')).toMatch(/^turnpike_usage_delivery_failing 0$/m);
    expect(texts.join('\n')).toMatch(/^turnpike_usage_jobs\{state="waiting"\} 0$/m);
    expect(texts.join('\n')).toMatch(/^turnpike_dead_letters_open 0$/m);
  });
});
