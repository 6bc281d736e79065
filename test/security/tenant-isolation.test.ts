import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONTROL_TYPES, SILENT } from '../../apps/gateway/src/websocket/frames.js';
import type { App } from '../e2e/platform.js';
import { startPostgres, type PostgresService } from '../e2e/services.js';
import { belongingsOf, ghostOf, opened, type Belonging } from './tenants/belongings.js';
import { Caller, type Answer } from './tenants/caller.js';
import { routes } from './tenants/routes.js';
import { startFor } from './tenants/platform.js';
import { NAMELESS, PATHS, type Asker, type Name, type Path, type Use } from './tenants/paths.js';

/** What an answer says, whatever the name is that it is about, and whenever it was given. */
function saying({ status, headers, body }: Answer, { id, conversation }: Name): unknown {
  const text = [id, conversation ?? id].reduce((all, name) => all.replaceAll(name, 'NAME'), body);
  const plain = text
    .replace(/\b[a-z]+_[0-9a-f]{48}\b/g, 'MINTED')
    .replace(/\btp1\.[\w-]+/g, 'SEALED')
    .replace(/"(created_at|completed_at|cached_tokens|sequence_number)":\d+/g, '"$1":0');
  // A name and one that never was one are equally long, and so are refusals of them.
  const { 'content-length': length, ...rest } = headers;
  return { status, headers: status === 200 ? rest : { ...rest, length }, body: plain };
}

/** What kind of name a use is for; all others are tried as well, by another tenant, with one of the stores. */
const FORMS: Readonly<Record<Use, RegExp>> = {
  continue: /^resp_/,
  'continue on its connection': /^resp_/,
  read: /^resp_/,
  cancel: /^resp_/,
  delete: /^resp_/,
  control: /^resp_/,
  conversation: /^conv_/,
  reasoning: /^tp1\./,
  compaction: /^tp1\./,
  call: /^call_/,
  reference: /^(?!resp|conv|call|tp1\.)/,
  item: /^(?!resp|conv|call|tp1\.)/,
  cursor: /^(?!resp|conv|call|tp1\.)/,
  nothing: /^$/,
};

/** Whether a name is of the kind that a path is for, and not one of many that stand for each other there. */
function isFor({ use, how }: Path, { id, isItem, conversation }: Belonging): boolean {
  if (!FORMS[use].test(id)) return false;
  if (isItem !== true || how === 'item_reference') return true;
  return conversation !== undefined && use !== 'reference';
}

/** What only works on the connection that a response belongs to. */
const BOUND: readonly Use[] = ['control', 'call', 'continue on its connection'];

/** Asks, and remembers what is said to a name of the same form that never was one. */
class Attack {
  readonly #asker: Asker;
  readonly #toGhosts = new Map<string, unknown>();

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Whether the answer is another one than to a name that never was one. */
  async isTold(path: Path, name: Name): Promise<boolean> {
    const form = [
      path.at,
      path.how,
      name.id.slice(0, 12).replace(/[^_]*$/, ''),
      name.id.length,
      name.conversation === undefined,
    ].join(' ');
    if (!this.#toGhosts.has(form)) {
      const ghost = ghostOf(name);
      this.#toGhosts.set(form, saying(await path.ask(this.#asker, ghost), ghost));
    }
    const said = saying(await path.ask(this.#asker, name), name);
    return JSON.stringify(said) !== JSON.stringify(this.#toGhosts.get(form));
  }
}

it('every route and every event there is has its place in the table', async () => {
  // The admin API has other callers: test/e2e/keys.test.ts attacks it.
  const served = (await routes()).filter((route) => !route.includes(' /admin/'));
  const there = [...served, 'response.create', ...SILENT, ...CONTROL_TYPES];
  const named = [...new Set(PATHS.map(({ at }) => at)), ...Object.keys(NAMELESS)];
  expect(named.toSorted()).toEqual(there.toSorted());
});

describe.each(['sqlite', 'memory', 'postgres'] as const)('with the store in %s', (kind) => {
  let server: PostgresService | undefined;
  let gateway: App;
  let owner: Caller;
  let other: Caller;
  let belongings: readonly Belonging[];

  beforeAll(async () => {
    server = kind === 'postgres' ? await startPostgres() : undefined;
    const url = await server?.database();
    gateway = await startFor(
      ['owner', 'other'],
      [
        url === undefined ? `store: { kind: ${kind} }` : `store: { kind: postgres, url: "${url}" }`,
        // What a lost connection left behind is there for as long as this takes.
        'limits: { backgroundRunning: 1, backgroundQueued: 100000, drainMs: 0, resumeMs: 3600000 }',
      ],
    );
    owner = await Caller.connect(gateway.url, 'owner');
    other = await Caller.connect(gateway.url, 'other');
    belongings = await belongingsOf(owner, gateway.url);
  });
  afterAll(async () => {
    await gateway.stop();
    await server?.remove();
  });

  async function askerOf(caller: Caller, conversation?: string): Promise<Asker> {
    const said = { input: 'mine [sim calls=0]' };
    return {
      caller,
      conversation: conversation ?? (await caller.get('POST', '/conversations', {})).id,
      response: (await caller.get('POST', '/responses', said)).id,
    };
  }

  /** All that can be seen of what the owner has. */
  async function stateOf(): Promise<unknown> {
    const seen = belongings.flatMap(({ id }) => {
      if (id.startsWith('resp_')) return [`/responses/${id}`, `/responses/${id}/input_items`];
      return id.startsWith('conv_') ? [`/conversations/${id}`, `/conversations/${id}/items`] : [];
    });
    const answers: string[] = [];
    for (const path of seen) answers.push((await owner.http('GET', path)).body);
    const events = owner.socket.events.filter(({ type }) => type !== 'keepalive').length;
    return { answers, events };
  }

  it('another tenant is told nothing, and changes nothing', async () => {
    const before = await stateOf();
    await opened(other);
    const attack = new Attack(await askerOf(other));
    const told: string[] = [];
    for (const path of PATHS) {
      const isTried = (each: Belonging) => isFor(path, each) || (kind === 'sqlite' && each.isItem !== true);
      for (const name of belongings.filter(isTried)) {
        if (await attack.isTold(path, name)) told.push(`${path.at}, ${path.how}: ${name.kind}`);
      }
    }
    expect(told).toEqual([]);
    expect(await stateOf()).toEqual(before);
  });

  it('another connection of the owner is told nothing of what belongs to one alone', async () => {
    const before = await stateOf();
    const second = await Caller.connect(gateway.url, 'owner');
    await opened(second);
    const attack = new Attack(await askerOf(second));
    const told: string[] = [];
    for (const path of PATHS.filter(({ use }) => BOUND.includes(use))) {
      for (const name of belongings.filter((each) => each.isBound === true && isFor(path, each))) {
        if (await attack.isTold(path, name)) told.push(`${path.at}, ${path.how}: ${name.kind}`);
      }
    }
    expect(told).toEqual([]);
    expect(await stateOf()).toEqual(before);
    second.socket.close();
  });

  it('the owner can use everything for what it is there for, and for nothing else', async () => {
    const conversation = belongings.find((each) => each.kind === 'a conversation')?.id;
    const attack = new Attack(await askerOf(owner, conversation));
    const wrong: string[] = [];
    for (const path of PATHS) {
      for (const name of belongings.filter((each) => isFor(path, each))) {
        const isTold = await attack.isTold(path, name);
        if (isTold !== name.uses.includes(path.use))
          wrong.push(`${isTold} ${path.at}, ${path.how}: ${name.kind}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});
