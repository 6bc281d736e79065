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
  while (loggedTurns().length < before + TURNS + 1) await new Promise((resolve) => setTimeout(resolve, 5));
  return {
    work: loggedTurns()
      .slice(before + 1)
      .map(({ work }) => work),
    usage,
  };
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
});
