import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageServer } from '../../../libs/inference/testing/message-server.js';
import { FakeGuard, moderationOf } from '../../../libs/safety/src/testing/fake-guard.js';
import { connect, type Client, type Transport } from '../../conformance/transports.js';
import { Books } from '../books.js';
import { App, FAST, keysOf } from '../platform.js';
import { SocketClient } from '../socket-client.js';

/** Nano-dollars a token. */
export const PRICE = { input: 1_000, cached: 500, output: 2_000 };
/** By what tokens were for: those of the model `dear`, and the defaults. */
export const FACTORS: Readonly<Record<'dear' | 'others', Readonly<Record<string, number>>>> = {
  dear: { warm_up: 0.25, compaction: 3 },
  others: { warm_up: 0 },
};

const TOKENS = 'input: 1, cachedInput: 0.5, output: 2';
const MODELS = ['sim', 'slow', 'late', 'mortal', 'frail', 'pair', 'hosted', 'narrow', 'away'];
const PRICES = [
  'versions:',
  '  - version: test',
  '    from: "2026-01-01"',
  '    models:',
  ...MODELS.map((name) => `      ${name}: { ${TOKENS} }`),
  `      dear: { ${TOKENS}, warmUp: ${FACTORS.dear['warm_up']}, compaction: ${FACTORS.dear['compaction']} }`,
].join('\n');

/** A rule that blocks what a model says, and not what a user does. */
const PACK = `
name: ours
rules:
  - id: names
    category: privacy
    action: { assistant: block, default: off }
    phrases: [project heron, 'message 9, 0 tool outputs']
`;

const SLOW = ['--tps', '400', '--ttft-ms', '0', '--prefill-us-per-token', '0'];
const ENGINES = {
  /** Answers at once. */
  quick: FAST,
  /** Can be stopped in the middle of an answer. */
  slow: SLOW,
  /** Says nothing for a minute. */
  late: ['--ttft-ms', '60000'],
  /** Is killed. */
  mortal: FAST,
  /** Fails every request before the first token. */
  broken: [...FAST, '--script', 'die=0'],
};
export type EngineName = keyof typeof ENGINES;
export type GatewayName = 'main' | 'raced';
const NAMES = Object.keys(ENGINES) as EngineName[];

/** One request to an engine, as that engine itself accounts for it. */
export interface Work {
  readonly engine: EngineName;
  readonly prompt: number;
  /** Of the prompt, as the engine says at the end; 0 where it was cut off before it could. */
  readonly cached: number;
  readonly output: number;
}

interface EngineRequest {
  readonly request_id: string;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly finish_reason: string | null;
}

export interface EngineState {
  readonly running: number;
  /** The request that was accepted last. */
  readonly last: EngineRequest | null;
  readonly recent: readonly EngineRequest[];
}

interface HttpOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * Two gateways with one ledger in front of engines that do all that can happen to a turn. `main` waits for the verdict of
 * its classifier, `raced` begins at once.
 */
export class PolicyStand {
  readonly books: Books;
  readonly #noted = new Set<string>();
  /** Starts while `main` is at work. */
  #raced: Promise<App>;
  readonly #sockets: { close(): void }[] = [];

  private constructor(
    private readonly folder: string,
    readonly engines: Record<EngineName, App>,
    readonly hosted: MessageServer,
    /** The classifier of both: what is wicked is blocked. */
    readonly guard: FakeGuard,
    readonly main: App,
  ) {
    this.books = new Books(folder);
    this.#raced = this.#startRaced();
  }

  static async start(): Promise<PolicyStand> {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-policy-'));
    const [hosted, guard, ...apps] = await Promise.all([
      MessageServer.start('/v1/chat/completions'),
      FakeGuard.start(),
      ...NAMES.map((name) => App.start('engine', ['--port', '0', '--model', 'sim', ...ENGINES[name]])),
    ]);
    guard.answer = (_path, { input }) => moderationOf(input as string[], (text) => text.includes('wicked'));
    const engines = Object.fromEntries(NAMES.map((name, index) => [name, apps[index]])) as Record<
      EngineName,
      App
    >;
    writeFileSync(join(folder, 'prices.yaml'), PRICES);
    writeFileSync(join(folder, 'pack.yaml'), PACK);
    for (const input of ['gate', 'race']) {
      writeFileSync(join(folder, `${input}.yaml`), configOf(engines, hosted, guard, input));
    }
    const main = await App.start('gateway', ['--config', 'gate.yaml'], {}, folder);
    return new PolicyStand(folder, engines, hosted, guard, main);
  }

  /** A client of one tenant at a gateway; it is closed with the stand. */
  async client(transport: Transport, tenant = 'main', gateway: GatewayName = 'main'): Promise<Client> {
    const { url } = await this.#gateway(gateway);
    const client = await connect(transport, { url, headers: keyOf(tenant) });
    this.#sockets.push(client);
    return client;
  }

  /** A bare WebSocket of the tenant `main`. */
  async socket(gateway: GatewayName = 'main'): Promise<SocketClient> {
    const { url } = await this.#gateway(gateway);
    const client = await SocketClient.connect(url, '/v1/responses', keyOf('main'));
    this.#sockets.push(client);
    return client;
  }

  /** A request over HTTP: `POST` where there is a body. */
  http(
    path: string,
    body?: object,
    { key = 'main', headers = {}, signal }: HttpOptions = {},
  ): Promise<Response> {
    return fetch(`${this.main.url}/v1/responses${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...keyOf(key), ...headers },
      ...(body !== undefined && { body: JSON.stringify({ model: 'sim', ...body }) }),
      ...(signal !== undefined && { signal }),
    });
  }

  async state(engine: EngineName): Promise<EngineState> {
    return (await (await fetch(`${this.engines[engine].url}/debug/state`)).json()) as EngineState;
  }

  /** Waits until a state of an engine is as it should be. */
  async until(engine: EngineName, condition: (state: EngineState) => boolean): Promise<void> {
    while (!condition(await this.state(engine))) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** What engines did for a response, in their own words. */
  async work(id: string): Promise<Work[]> {
    const work: Work[] = [];
    for (const engine of this.#living()) {
      for (const request of (await this.state(engine)).recent) {
        if (!request.request_id.includes(id)) continue;
        const isWhole = request.finish_reason === 'stop' || request.finish_reason === 'length';
        const { prompt_tokens: prompt, completion_tokens: output } = request;
        work.push({ engine, prompt, cached: isWhole ? request.cached_tokens : 0, output });
      }
    }
    return work;
  }

  /** Responses that engines were asked for. */
  async asked(): Promise<Set<string>> {
    const asked = new Set(this.#noted);
    for (const engine of this.#living()) {
      const statement = await (await fetch(`${this.engines[engine].url}/debug/usage.csv`)).text();
      for (const [id] of statement.matchAll(/resp_[0-9a-f]{48}/g)) asked.add(id);
    }
    return asked;
  }

  /** A response that an engine was asked for which does not say so itself. */
  note(id: string): void {
    this.#noted.add(id);
  }

  async killMortal(): Promise<void> {
    this.engines.mortal.signal('SIGKILL');
    await this.engines.mortal.ended();
  }

  async killRaced(): Promise<void> {
    const raced = await this.#raced;
    raced.signal('SIGKILL');
    await raced.ended();
  }

  /** Starts it again where it was. */
  async reviveRaced(): Promise<void> {
    this.#raced = this.#startRaced();
    await this.#raced;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.close();
    await Promise.all([this.main.stop(), this.#raced.then((raced) => raced.stop())]);
    await Promise.all([
      ...NAMES.map((name) => this.engines[name].stop()),
      this.hosted.stop(),
      this.guard.stop(),
    ]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #gateway(name: GatewayName): Promise<App> {
    return name === 'main' ? Promise.resolve(this.main) : this.#raced;
  }

  #startRaced(): Promise<App> {
    return App.start('gateway', ['--config', 'race.yaml'], {}, this.folder);
  }

  #living(): EngineName[] {
    return NAMES.filter((name) => this.engines[name].running);
  }
}

const keyOf = (name: string) => ({ authorization: `Bearer ${name}` });

function configOf(
  engines: Record<EngineName, App>,
  hosted: MessageServer,
  guard: FakeGuard,
  input: string,
): string {
  const tokens = NAMES.map((name) => `${name}: { url: "${engines[name].url}", kind: vllm }`);
  const named = ['slow', 'late', 'mortal', 'frail'].map(
    (name) => `${name}: { engine: ${name}, engineModel: sim }`,
  );
  return [
    'port: 0',
    // The engine `frail` is the quick one, by another name: what fails there says nothing against that. Nobody listens at the port of `away`.
    `engines: { ${tokens.join(', ')}, frail: { url: "${engines.quick.url}", kind: vllm }, hosted: { url: "${hosted.url}", kind: chat }, away: { url: "http://127.0.0.1:1", kind: vllm } }`,
    'models:',
    '  sim: { engine: quick, engineModel: sim }',
    '  dear: { engine: quick, engineModel: sim }',
    '  narrow: { engine: quick, engineModel: sim, contextTokens: 64 }',
    '  pair: { engine: broken, engineModel: sim, fallbacks: [{ engine: quick, engineModel: sim }] }',
    '  hosted: { engine: hosted, engineModel: m, format: chat }',
    '  away: { engine: away, engineModel: sim }',
    ...named.map((line) => `  ${line}`),
    ...keysOf('main', 'thrifty', 'poor', 'reader').map((line) =>
      line.includes('name: reader') ? line.replace(' }', ', scopes: [billing] }') : line,
    ),
    'billing:',
    '  prices: prices.yaml',
    '  progressTokens: 4',
    '  holdOutputTokens: 32',
    '  budgets:',
    '    - { tenant: thrifty, period: total, usd: "0.0002" }',
    '    - { tenant: poor, period: total, usd: "0.000000001" }',
    'safety:',
    `  input: ${input}`,
    '  output: on',
    '  packs: [default, ./pack.yaml]',
    `  classifier: { kind: moderations, url: "${guard.url}", timeoutMs: 30000 }`,
  ].join('\n');
}
