import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectBoth, type Body, type Transport } from '../conformance/transports.js';
import { harmony } from '@turnpike/formats';
import { terminalOf, textOf, type WireEvent, type WireItem } from './socket-client.js';
import { Stand } from './stand.js';

/** Search for tools by the client: called by the model, answered with tools, which can then be called. */
const SEARCH = {
  type: 'tool_search',
  execution: 'client',
  description: 'Finds tools.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
};
const LOOKUP = {
  type: 'function',
  name: 'lookup_notes',
  description: 'Reads notes.',
  parameters: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
  defer_loading: true,
};
const NOTES = { type: 'namespace', name: 'mcp__notes', description: 'Notes.', tools: [LOOKUP] };
const TOOLS = [SEARCH, NOTES, { type: 'web_search' }];
const ASK = { role: 'user', content: 'Use lookup_notes please. [sim calls=2]' };

let stand: Stand;
let clients: Awaited<ReturnType<typeof connectBoth>>;

beforeAll(async () => {
  stand = await Stand.start(['limits: { replayBytes: 0 }']);
  clients = await connectBoth(stand);
});
afterAll(async () => {
  clients.websocket.close();
  await stand.stop();
});

/** The events of one response, or the one error. */
function create(transport: Transport, body: Body): Promise<WireEvent[]> {
  return clients[transport].create(body);
}

const callsOf = (events: readonly WireEvent[]): WireItem[] =>
  terminalOf(events).response.output.filter(({ type }) => type.endsWith('_call'));

function foundBy(call: WireItem | undefined, tools: unknown[]): Record<string, unknown> {
  const { call_id } = call ?? {};
  return { type: 'tool_search_output', call_id, execution: 'client', status: 'completed', tools };
}

/** The whole exchange, continued by id or brought whole each time: the events of its three responses. */
async function exchange(transport: Transport, by: 'id' | 'replay'): Promise<WireEvent[][]> {
  const history: unknown[] = [];
  const rounds: WireEvent[][] = [];
  let added: unknown[] = [ASK];
  let previous: string | undefined;
  for (let round = 0; round < 3; round++) {
    const continued = previous === undefined ? {} : { previous_response_id: previous };
    const events = await create(
      transport,
      by === 'id'
        ? { tools: TOOLS, input: added, ...continued }
        : { tools: TOOLS, input: [...history, ...added] },
    );
    rounds.push(events);
    const { response } = terminalOf(events);
    history.push(...added, ...response.output);
    previous = response.id;
    const [call] = callsOf(events);
    added =
      call?.type === 'tool_search_call'
        ? [foundBy(call, [NOTES])]
        : [{ type: 'function_call_output', call_id: call?.call_id, output: 'Buy milk.' }];
  }
  return rounds;
}

describe('a search for tools by the client', () => {
  it.each<[Transport, 'id' | 'replay']>([
    ['websocket', 'id'],
    ['http', 'id'],
    ['http', 'replay'],
  ])('over %s, continued by %s: is called, brings a namespace, whose tool is called', async (...how) => {
    const [searched = [], called = [], answered = []] = await exchange(...how);
    expect(callsOf(searched)).toEqual([
      {
        type: 'tool_search_call',
        id: expect.stringMatching(/^tsc_/),
        call_id: expect.stringMatching(/^call_/),
        execution: 'client',
        arguments: { query: 'Use lookup_notes please.' },
        status: 'completed',
      },
    ]);
    expect(callsOf(called)).toEqual([
      expect.objectContaining({ type: 'function_call', name: 'lookup_notes', namespace: 'mcp__notes' }),
    ]);
    expect(textOf(answered)).toContain('The tool said: "Buy milk."');
  });

  it('is shown when it begins and when its arguments are whole, with no events of a function call', async () => {
    const events = await create('websocket', { tools: TOOLS, input: [ASK], reasoning: { effort: 'low' } });
    const [call] = callsOf(events);
    expect(events.map(({ type, item }) => [type, item?.['arguments'], item?.['status']])).toEqual([
      ['response.created', undefined, undefined],
      ['response.in_progress', undefined, undefined],
      ['response.output_item.added', {}, 'in_progress'],
      ['response.output_item.done', { query: 'Use lookup_notes please.' }, 'completed'],
      ['response.completed', undefined, undefined],
    ]);
    expect(events[2]?.item?.call_id).toBe(call?.call_id);
    expect(events[3]?.item).toEqual(call);
  });

  it('hides what is to be searched for until it is found', async () => {
    stand.prompts.length = 0;
    await exchange('websocket', 'id');
    const [before = '', after = ''] = stand.prompts.map((prompt) => harmony().tokenizer.decode(prompt));
    expect(before).toContain('type tool_search = (_: {\nquery: string,\n}) => any;');
    expect(before).toContain('// What can be found:\n// - mcp__notes: Notes.');
    expect(before).not.toContain('type lookup_notes');
    expect(after.slice(before.length)).toContain('type lookup_notes = (_: {\nkey: string,\n}) => any;');
  });

  it('leaves its tools with the chain, whatever later requests bring', async () => {
    const rounds = await exchange('websocket', 'id');
    const events = await create('websocket', {
      input: 'lookup_notes once more [sim tool=lookup_notes]',
      previous_response_id: terminalOf(rounds.at(-1) ?? []).response.id,
    });
    expect(callsOf(events)).toEqual([
      expect.objectContaining({ type: 'function_call', name: 'lookup_notes', namespace: 'mcp__notes' }),
    ]);
  });

  it('can be forced, and shut out', async () => {
    const ask = { input: 'What is your name? [sim calls=0]', tools: TOOLS };
    const forced = await create('http', { ...ask, tool_choice: { type: 'tool_search' } });
    expect(callsOf(forced)).toEqual([expect.objectContaining({ type: 'tool_search_call' })]);
    const none = await create('http', { ...ask, input: [ASK], tool_choice: 'none' });
    expect(callsOf(none)).toEqual([]);
    const deferred = await create('http', {
      ...ask,
      tool_choice: { type: 'function', name: 'lookup_notes' },
    });
    expect(deferred[0]?.error?.param).toBe('tool_choice');
  });

  it('may join the chain in an item', async () => {
    const events = await create('websocket', {
      input: [{ type: 'additional_tools', role: 'developer', tools: [SEARCH, NOTES] }, ASK],
    });
    expect(callsOf(events)).toEqual([expect.objectContaining({ type: 'tool_search_call' })]);
  });

  it('has to be answered, and answered once', async () => {
    const first = await create('websocket', { tools: TOOLS, input: [ASK], store: false });
    const [call] = callsOf(first);
    const continued = { tools: TOOLS, previous_response_id: terminalOf(first).response.id };
    const [unanswered] = await create('websocket', { ...continued, input: 'never mind' });
    expect(unanswered?.error).toMatchObject({
      code: 'tool_output_mismatch',
      message: `No tool output found for tool search call ${call?.call_id}.`,
      param: 'input',
    });
    // The failed continuation has taken its parent along.
    const [gone] = await create('websocket', { ...continued, input: [foundBy(call, [NOTES])] });
    expect(gone?.error?.code).toBe('previous_response_not_found');
  });
});

describe('a search for tools by the server', () => {
  it('is done by showing everything', async () => {
    stand.prompts.length = 0;
    const events = await create('http', { tools: [{ type: 'tool_search' }, NOTES], input: [ASK] });
    expect(callsOf(events)).toEqual([
      expect.objectContaining({ type: 'function_call', name: 'lookup_notes', namespace: 'mcp__notes' }),
    ]);
    expect(terminalOf(events).response).not.toHaveProperty('turnpike.dropped_tools');
    expect(harmony().tokenizer.decode(stand.prompts[0] ?? [])).not.toContain('tool_search');
  });
});
