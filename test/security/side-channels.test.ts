import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { App } from '../e2e/platform.js';
import type { WireItem } from '../e2e/socket-client.js';
import { Caller } from './tenants/caller.js';
import { startFor } from './tenants/platform.js';

/** What tenants share, and what can be seen of that: nothing that another one has said or done. */
let app: App;
let one: Caller;
let other: Caller;

beforeAll(async () => {
  app = await startFor(
    ['one', 'other'],
    ['limits: { backgroundRunning: 1, backgroundQueued: 2, drainMs: 0 }'],
  );
  one = await Caller.connect(app.url, 'one');
  other = await Caller.connect(app.url, 'other');
});
afterAll(() => app.stop());

interface Said {
  id: string;
  status: string;
  output: WireItem[];
  usage: { input_tokens: number; input_tokens_details: { cached_tokens: number } };
}

const RULES = 'You are a careful assistant that answers every question in the fewest words there are.';
const say = (caller: Caller, input: unknown, more: object = {}) =>
  caller.get<Said>('POST', '/responses', { instructions: RULES, store: false, input, ...more });
const cachedOf = ({ usage }: Said) => usage.input_tokens_details.cached_tokens;

describe('what a prompt finds in the cache of the engine', () => {
  const secret = 'The merger is called walrus and closes on the ninth. [sim calls=0]';
  const unsaid = 'The merger is called badger and closes on the ninth. [sim calls=0]';

  it('is what the same tenant has said', async () => {
    await say(one, secret);
    const again = await say(one, secret);
    expect(cachedOf(again)).toBe(again.usage.input_tokens);
  });

  it('is nothing that another one has said, guessed to the letter', async () => {
    expect(cachedOf(await say(other, secret))).toBe(0);
    // From here on it shares the beginning with what it has said itself, and no more.
    const [guess, none] = [await say(other, secret), await say(other, unsaid)];
    expect(cachedOf(guess)).toBe(guess.usage.input_tokens);
    expect(cachedOf(none)).toBeLessThan(guess.usage.input_tokens);
  });

  it('is not shared by summaries either', async () => {
    const compact = (caller: Caller) =>
      caller.get<Said>('POST', '/responses/compact', { instructions: RULES, input: 'The otter is next.' });
    await compact(one);
    expect(cachedOf(await compact(one))).toBeGreaterThan(cachedOf(await compact(other)));
  });
});

it('a conversation that is sent whole is recognised as the tenant’s own, and as no other’s', async () => {
  const asked = { role: 'user', content: 'What is the plan? [sim calls=0 reason=0]' };
  const { output } = await say(one, [asked]);
  const more = [asked, ...output, { role: 'user', content: 'And then? [sim calls=0 reason=0]' }];
  const work = async (caller: Caller) => {
    const { id } = await say(caller, more);
    const line = () =>
      app
        .output()
        .split('\n')
        .find((each) => each.includes(id));
    while (line() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    return (JSON.parse(line() ?? '') as { work: Record<string, number> }).work;
  };
  expect(await work(one)).toMatchObject({ items_validated: 1 });
  expect(await work(other)).toMatchObject({ items_validated: more.length });
});

it('the health of the server says nothing about who uses it', async () => {
  const health = await fetch(`${app.url}/health`);
  expect(await health.json()).toEqual({ status: 'ok', engines: { sim: 'ready' } });
});

it('a full queue of one is an empty one of another', async () => {
  const accept = (caller: Caller, input: string) =>
    caller.http('POST', '/responses', { background: true, input });
  await accept(one, 'x [sim tokens=100 stall=600000]');
  // The first may be running by now, or still wait.
  let full = await accept(one, 'x');
  while (full.status === 200) full = await accept(one, 'x');
  expect(full.status).toBe(429);
  const [first, second, third] = [
    await accept(other, 'x'),
    await accept(other, 'x'),
    await accept(other, 'x'),
  ];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(third).toEqual(full);
  // Nothing says how many are before it.
  expect(JSON.parse(first.body)).toMatchObject({ status: 'queued', output: [], usage: null });
  expect(first.body.replace(/resp_\w+|"created_at":\d+/g, '')).toBe(
    second.body.replace(/resp_\w+|"created_at":\d+/g, ''),
  );
});

it('names that two tenants give to their items are two names', async () => {
  const item = (text: string) => ({ type: 'message', id: 'msg_shared', role: 'user', content: text });
  const ask = { role: 'user', content: 'go on [sim calls=0]' };
  for (const [caller, text] of [
    [one, 'apples'],
    [other, 'pears'],
  ] as const) {
    await caller.get('POST', '/responses', { input: [item(text), ask] });
    await caller.get('POST', '/conversations', { items: [item(text)] });
  }
  for (const [caller, text] of [
    [one, 'apples'],
    [other, 'pears'],
  ] as const) {
    const { id } = await caller.get('POST', '/conversations', {
      items: [{ type: 'item_reference', id: 'msg_shared' }],
    });
    const page = await caller.get<{ data: WireItem[]; has_more: boolean }>(
      'GET',
      `/conversations/${id}/items`,
    );
    expect(page).toMatchObject({ data: [{ content: [{ text }] }], has_more: false });
  }
});
