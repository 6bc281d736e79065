import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startPlatform, type App } from '../e2e/platform.js';
import { SocketClient, terminalOf, type WireUsage } from '../e2e/socket-client.js';
import { contextText } from '../bench/context.mjs';

/** Law 3 on the running platform: work is counted by the gateway itself and read from its debug log. */
const TOOLS = [
  {
    type: 'function',
    name: 'lookup',
    parameters: { type: 'object', properties: { key: { type: 'string' } } },
  },
];
const TURNS = 4;

interface LoggedTurn {
  work: {
    tokens_encoded?: number;
    items_rendered?: number;
    items_validated?: number;
    routes_resolved?: number;
  };
}

let app: App;

beforeAll(async () => {
  app = await startPlatform();
});
afterAll(() => app.stop());

function loggedTurns(): LoggedTurn[] {
  return app
    .output()
    .split('\n')
    .filter((line) => line.includes('"msg":"turn ended"'))
    .map((line) => JSON.parse(line) as LoggedTurn);
}

/** A tool loop behind `contextTokens` of context: the work and usage of its turns after the first. */
async function loop(contextTokens: number): Promise<{ work: LoggedTurn['work'][]; usage: WireUsage[] }> {
  const before = loggedTurns().length;
  const client = await SocketClient.connect(app.url);
  const usage: WireUsage[] = [];
  let input: unknown = `${contextText(contextTokens, 1)}\n[sim calls=${TURNS}]`;
  let previous: string | undefined;
  for (let turn = 0; turn <= TURNS; turn++) {
    const { response } = terminalOf(
      await client.create({
        tools: TOOLS,
        store: false,
        input,
        ...(previous && { previous_response_id: previous }),
      }),
    );
    if (response.usage) usage.push(response.usage);
    previous = response.id;
    const calls = response.output.filter(({ type }) => type === 'function_call');
    input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: `result ${turn}` }));
  }
  client.close();
  return { ...(await worked(before, TURNS + 1)), usage };
}

/** The work of the turns after the first, of `turns` that were logged behind `before` others. */
async function worked(before: number, turns: number): Promise<{ work: LoggedTurn['work'][] }> {
  while (loggedTurns().length < before + turns) await new Promise((resolve) => setTimeout(resolve, 5));
  return {
    work: loggedTurns()
      .slice(before + 1)
      .map(({ work }) => work),
  };
}

/** Turns that bring other items than calls and their outputs, behind `contextTokens` of context. */
async function others(contextTokens: number): Promise<LoggedTurn['work'][]> {
  const before = loggedTurns().length;
  const client = await SocketClient.connect(app.url);
  const search = { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } };
  const tools = [search, { type: 'namespace', name: 'notes', tools: [{ ...TOOLS[0], defer_loading: true }] }];
  let { response } = terminalOf(
    await client.create({
      tools,
      store: false,
      input: `${contextText(contextTokens, 1)}\nUse lookup. [sim calls=2]`,
    }),
  );
  const go = async (...input: unknown[]) => {
    const previous_response_id = response.id;
    ({ response } = terminalOf(await client.create({ tools, store: false, input, previous_response_id })));
  };
  const call = () => response.output.find(({ type }) => type.endsWith('_call'))?.call_id;
  await go({ type: 'tool_search_output', call_id: call(), execution: 'client', tools: [tools[1]] });
  await go({ type: 'function_call_output', call_id: call(), output: 'found' });
  await go(
    { type: 'configuration_update', reasoning: { effort: 'high' } },
    { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
    { role: 'user', content: 'go on [sim calls=0]' },
  );
  client.close();
  return (await worked(before, 4)).work;
}

describe('a turn of a 200,000-token chain', () => {
  it('does the same work as one of a 1,000-token chain, and the engine has everything before it cached', async () => {
    const short = await loop(1_000);
    const long = await loop(200_000);
    expect(long.work).toEqual(short.work);
    for (const work of long.work) {
      expect(work).toMatchObject({ items_rendered: 1, items_validated: 1 });
      expect(work.tokens_encoded).toBeLessThan(40);
      expect(work.routes_resolved).toBeUndefined();
    }
    expect(long.usage[0]?.input_tokens).toBeGreaterThan(190_000);
    long.usage.slice(1).forEach((usage, index) => {
      const before = long.usage[index];
      const all = (before?.input_tokens ?? 0) + (before?.output_tokens ?? 0);
      expect(usage.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(all);
    });
  });

  it('does the same work for other items too: a search for tools, a change of settings, what a server did', async () => {
    const short = await others(1_000);
    const long = await others(200_000);
    expect(long).toEqual(short);
    expect(long.map(({ items_rendered }) => items_rendered)).toEqual([1, 1, 3]);
  });
});
