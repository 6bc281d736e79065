import { usage } from '../../../libs/inference/testing/message-server.js';
import { moderationOf } from '../../../libs/safety/src/testing/fake-guard.js';
import { expect } from '@jest/globals';
import type { Body, Transport } from '../../conformance/transports.js';
import type { SocketClient, WireEvent, WireUsage } from '../socket-client.js';
import type { EngineState, GatewayName, PolicyStand, Work } from './stand.js';

/** What became of one response. */
export interface Played {
  /** How its client saw it end, in short; undefined when there was no client any more. */
  readonly end: string | undefined;
  /** Of the response, where there is one. */
  readonly id?: string | undefined;
  /** What its client was told that it used. */
  readonly told?: WireUsage | null | undefined;
  /** What is paid for of what engines did; by default all that they say they did for it. */
  readonly work?: readonly Omit<Work, 'engine'>[];
}

/** Something that happens to a response, or to several. */
export type Play = (stand: PolicyStand) => Promise<Played | readonly Played[]>;

export const LONG = '[sim reason=0 tokens=4000]';
/** Says nothing more behind five tokens. */
const STALLED = '[sim reason=0 tokens=100 stall=60000]';
/** A conversation whose summary a rule blocks: it says how many messages it is of. */
export const UNSUMMARISED = Array.from({ length: 8 }, () => ({ role: 'user', content: 'hello' }));
const RESPONSE_ID = /resp_[0-9a-f]{48}/;

function endOf({ type, status, error, response }: WireEvent): string {
  if (type === 'error') return `error ${status} ${error?.code}`;
  const details = response as { incomplete_details?: { reason: string } | null } | undefined;
  return [type, response?.error?.code ?? details?.incomplete_details?.reason ?? []].flat().join(' ');
}

function ended(events: readonly WireEvent[]): Played {
  const last = events.at(-1) ?? { type: 'nothing' };
  return { end: endOf(last), id: last.response?.id, told: last.response?.usage };
}

async function refusalOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error?: { code: string } };
  return `error ${answer.status} ${error?.code}`;
}

/** One turn of a tenant. */
export const turn =
  (transport: Transport, body: Body, tenant?: string) =>
  async (stand: PolicyStand): Promise<Played> =>
    ended(await (await stand.client(transport, tenant)).create(body));

/** The second turn of a chain: its engine has the first in its cache. */
export const continued =
  (transport: Transport, body: Body): Play =>
  async (stand) => {
    const client = await stand.client(transport);
    const first = ended(await client.create({ input: 'the beginning' }));
    const second = ended(await client.create({ ...body, previous_response_id: first.id }));
    expect(second.told?.input_tokens_details.cached_tokens).toBeGreaterThan(
      first.told?.input_tokens ?? Infinity,
    );
    return second;
  };

/** The same request twice, with a key that makes it one. */
export const repeated: Play = async (stand) => {
  const ask = async () => {
    const answer = await stand.http('', { input: 'once' }, { headers: { 'idempotency-key': 'once' } });
    const {
      id,
      status,
      usage: told,
    } = (await answer.json()) as { id: string; status: string; usage: WireUsage };
    return { end: status, id, told };
  };
  const [first, second] = [await ask(), await ask()];
  expect(second).toEqual(first);
  return first;
};

interface Begun {
  readonly client: SocketClient;
  readonly id: string;
}

/** Starts a response on a socket of its own, and waits until it speaks, or until an engine that is silent has been asked. */
async function begun(stand: PolicyStand, body: Body, gateway: GatewayName = 'main'): Promise<Begun> {
  const client = await stand.socket(gateway);
  client.send({ type: 'response.create', model: 'sim', ...body });
  const isSilent = body['model'] === 'late';
  await client.until(() => client.events.some(({ type }) => isSilent || type.endsWith('.delta')));
  if (isSilent) await stand.until('late', ({ running }) => running > 0);
  return { client, id: client.events[0]?.response?.id ?? '' };
}

/** The end of a response that has begun. */
async function end({ client }: Begun): Promise<Played> {
  const isEnd = ({ type }: WireEvent) => /^response\.(completed|incomplete|failed)$|^error$/.test(type);
  await client.until(() => client.events.some(isEnd));
  return ended(client.events.slice(0, client.events.findIndex(isEnd) + 1));
}

/** A response that its client interrupts. */
export const interrupted =
  (body: Body): Play =>
  async (stand) => {
    const response = await begun(stand, body);
    response.client.send({ type: 'response.interrupt', response_id: response.id });
    return end(response);
  };

const isSpeaking = ({ running, last }: EngineState) => running > 0 && (last?.completion_tokens ?? 0) > 5;

/** A response in the background that its client cancels. */
export const cancelled: Play = async (stand) => {
  const body = { model: 'slow', input: `x ${LONG}`, background: true };
  const { id } = (await (await stand.http('', body)).json()) as { id: string };
  await stand.until('slow', isSpeaking);
  const answer = (await (await stand.http(`/${id}/cancel`, {})).json()) as {
    status: string;
    usage: WireUsage;
  };
  return { end: answer.status, id, told: answer.usage };
};

/** A response whose client leaves. */
export const left =
  (body: Body): Play =>
  async (stand) => {
    const { client, id } = await begun(stand, body);
    client.socket.terminate();
    return { end: undefined, id };
  };

export const leftHttp =
  (body: Body): Play =>
  async (stand) => {
    const leaving = new AbortController();
    const answer = await stand.http('', { stream: true, ...body }, { signal: leaving.signal });
    let text = '';
    for await (const bytes of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(bytes);
      if (text.includes('.delta')) break;
    }
    leaving.abort();
    return { end: undefined, id: RESPONSE_ID.exec(text)?.[0] };
  };

/** A response that is steered at its first words, or the one that goes on behind it. */
export const steered =
  (which: 'first' | 'second'): Play =>
  async (stand) => {
    // It ends at the next message, which is to come long after the steering.
    const input = `one [sim reason=${which === 'first' ? 400 : 40}]`;
    const { client, id } = await begun(stand, { model: 'slow', input, reasoning: { effort: 'medium' } });
    client.send({ type: 'response.steer', previous_response_id: id, input: 'two [sim reason=0]' });
    const ends = () => client.events.filter(({ type }) => /^response\.(completed|incomplete)$/.test(type));
    await client.until(() => ends().length === 2);
    return ended(ends().slice(0, which === 'first' ? 1 : 2));
  };

/** A turn of a server that takes messages, and counts itself. What it says beside its counts is given. */
export const counted =
  (said: readonly unknown[], input: unknown = 'x'): Play =>
  async (stand) => {
    stand.hosted.play([...said, usage(90, 30, 7, 0)]);
    const played = await turn('websocket', { model: 'hosted', input })(stand);
    stand.note(played.id ?? '');
    return { ...played, work: [{ prompt: 90, cached: 30, output: 7 }] };
  };

/** An engine answers with an error in place of a stream, and does not count the request: the prompt of another is as long. */
export const refusedByEngine =
  (transport: Transport): Play =>
  async (stand) => {
    const other = await turn(transport, { model: 'frail', input: 'x [sim error=500]' })(stand);
    expect(other.end).toBe('response.completed');
    const [work] = await stand.work(other.id ?? '');
    const played = await turn(transport, { model: 'frail', input: 'x [sim status=500]' })(stand);
    stand.note(played.id ?? '');
    return { ...played, work: [{ prompt: work?.prompt ?? 0, cached: 0, output: 0 }] };
  };

/** Two responses, one over each transport, in the middle of which their engine is killed. */
export const engineKilled: Play = async (stand) => {
  const body = { model: 'mortal', input: `x ${STALLED}` };
  const first = await begun(stand, body);
  const second = (await stand.client('http')).create(body);
  const isStalled = ({ recent }: EngineState) =>
    recent.length === 2 && recent.every(({ completion_tokens }) => completion_tokens === 5);
  await stand.until('mortal', isStalled);
  const { recent } = await stand.state('mortal');
  const work = new Map(
    recent.map(({ request_id, prompt_tokens: prompt }) => [
      RESPONSE_ID.exec(request_id)?.[0] ?? '',
      { prompt, cached: 0, output: 5 },
    ]),
  );
  await stand.killMortal();
  for (const id of work.keys()) stand.note(id);
  return [await end(first), ended(await second)].map((played) => {
    const own = work.get(played.id ?? '');
    return { ...played, work: own === undefined ? [] : [own] };
  });
};

/** A gateway is killed, and the next one settles what its journal says. */
export const gatewayKilled: Play = async (stand) => {
  const { id } = await begun(stand, { input: `x ${STALLED}` }, 'raced');
  const written = () => {
    const lines = stand.books.journal().split('\n');
    const last = lines.filter((line) => line.includes(`"id":"${id}"`)).at(-1) ?? '';
    return Number(/"purpose":"answer".*?"output":(\d+)/.exec(last)?.[1] ?? 0);
  };
  await stand.until('quick', ({ recent }) =>
    recent.some(({ request_id, completion_tokens }) => request_id.includes(id) && completion_tokens === 5),
  );
  // All but less than the progress interval of four is written down at once.
  while (written() < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await stand.killRaced();
  const output = written();
  const [work] = await stand.work(id);
  await stand.reviveRaced();
  return { end: undefined, id, work: [{ prompt: work?.prompt ?? 0, cached: 0, output }] };
};

/** A turn whose first engine fails: it read the prompt, and wrote nothing. */
export const failedOver =
  (transport: Transport, input: unknown): Play =>
  async (stand) => {
    const played = await turn(transport, { model: 'pair', input })(stand);
    const all = await stand.work(played.id ?? '');
    const isFirst = ({ engine }: Work) => engine === 'broken';
    const work = all.filter((each) => !isFirst(each));
    expect(work).toHaveLength(1);
    expect(all.filter(isFirst)).toMatchObject([{ prompt: work[0]?.prompt, output: 0 }]);
    return { ...played, work };
  };

/** A conversation that is made short over HTTP. */
export const compacted: Play = async (stand) => {
  const answer = await stand.http('/compact', { input: 'a long story' });
  const {
    id,
    object,
    usage: told,
  } = (await answer.json()) as { id: string; object: string; usage: WireUsage };
  return { end: object, id, told };
};

/** One whose summary may not be shown: its client gets no id, and its engine has it. */
export const compactedAndBlocked: Play = async (stand) => {
  const answer = await stand.http('/compact', { input: UNSUMMARISED });
  const { last } = await stand.state('quick');
  return { end: await refusalOf(answer), id: RESPONSE_ID.exec(last?.request_id ?? '')?.[0] };
};

/** The verdict against an input comes when an engine has said something already. */
export const blockedInRace: Play = async (stand) => {
  const { answer } = stand.guard;
  stand.guard.answer = async (_path, { input }) => {
    await stand.until('slow', isSpeaking);
    return moderationOf(input as string[], () => true);
  };
  try {
    const client = await stand.client('websocket', 'main', 'raced');
    return ended(await client.create({ model: 'slow', input: `x ${LONG}` }));
  } finally {
    stand.guard.answer = answer;
  }
};

/** A key that may not ask for responses. */
export const withoutScope: Play = async (stand) => {
  return { end: await refusalOf(await stand.http('', { input: 'x' }, { key: 'reader' })) };
};

/** No engine of the model can be reached, and the gateway knows. */
export const withoutEngine: Play = async (stand) => {
  const standing = async () =>
    ((await (await fetch(`${stand.main.url}/health`)).json()) as { engines: { away: string } }).engines.away;
  while ((await standing()) !== 'down') await new Promise((resolve) => setTimeout(resolve, 5));
  return turn('websocket', { model: 'away', input: 'x' })(stand);
};
