import { expect } from '@jest/globals';
import type { SocketClient, WireEvent, WireItem } from '../../e2e/socket-client.js';
import { callsOf, completed, user, type Run } from './run.js';

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

/** A chain on one connection, on lanes, through everything that a client can say while a response runs. */
export async function chains(run: Run): Promise<void> {
  const client = await run.socket();
  const store = { store: run.options.store };
  const create = (fields: Record<string, unknown>) => client.create({ ...store, ...fields });
  const warm = completed(await create({ input: [user(run.kept('ws_warm'))], generate: false }));
  const first = completed(
    await create({
      previous_response_id: warm.id,
      instructions: run.kept('ws_instructions'),
      input: [user(run.kept('ws_input'))],
      reasoning: { effort: 'medium' },
    }),
  );
  const lane = completed(
    await create({
      previous_response_id: first.id,
      stream_id: run.passing('stream_id'),
      input: [user(run.kept('ws_lane'))],
    }),
  );
  expect(JSON.stringify(lane.output)).toContain(run.kept('ws_lane'));
  await steered(run, client);
  await answered(run, client);
  await interrupted(run, client);
  const due = completed(
    await create({
      previous_response_id: first.id,
      context_management: [{ type: 'compaction', compact_threshold: 50 }],
      input: [user(`${run.kept('ws_due')} ${'word '.repeat(60)}`)],
    }),
  );
  expect(due.output.map(({ type }) => type)).toContain('compaction');
  const trigger = { type: 'compaction_trigger' };
  const asked = [user(run.kept('ws_trigger')), trigger];
  completed(await create({ previous_response_id: first.id, input: asked }));
}

/** Input that is given while a response runs, which is ended for it. */
async function steered(run: Run, client: SocketClient): Promise<void> {
  const from = client.events.length;
  client.send({
    type: 'response.create',
    ...run.body({ input: `${run.kept('steered')} [sim stall=60000 tokens=100]` }),
  });
  const id = await begun(client, from);
  const input = [{ type: 'message', role: 'user', content: run.kept('steer_input') }];
  client.send({ type: 'response.steer', previous_response_id: id, input });
  client.send({ type: 'response.interrupt', response_id: id });
  await client.until(() => since(client, from).some(({ type }) => type === 'response.completed'));
  expect(JSON.stringify(client.events.at(-1))).toContain(run.kept('steer_input'));
  // Refusals of control events give the input back.
  for (const [type, input] of [
    ['response.steer', run.passing('steer_refused')],
    [
      'response.inject',
      [{ type: 'function_call_output', call_id: 'x', output: run.passing('inject_refused') }],
    ],
    [
      'response.append',
      [{ type: 'function_call_output', call_id: 'x', output: run.passing('append_refused') }],
    ],
    ['response.interrupt', run.passing('interrupt_refused')],
  ] as const) {
    const before = client.events.length;
    const response = run.passing('control_response');
    client.send({ type, response_id: response, previous_response_id: response, input });
    await client.until(() => client.events.length > before);
    expect(client.events.at(-1)?.type).toMatch(/failed|error/);
  }
}

/** Outputs that are given to a response that waits for them, in both ways. */
async function answered(run: Run, client: SocketClient): Promise<void> {
  for (const way of ['append', 'inject'] as const) {
    const from = client.events.length;
    const input = `${run.kept(`${way}_ask`)} [sim calls=1]`;
    client.send({ type: 'response.create', ...run.body({ append: true, tools: TOOLS, input }) });
    const done = () => since(client, from).find(({ type }) => type === 'response.done');
    await client.until(() => done() !== undefined);
    client.send({
      type: `response.${way}`,
      response_id: done()?.['response_id'],
      input: (done()?.['output'] as WireItem[]).map(({ call_id }) => ({
        type: 'function_call_output',
        call_id,
        output: run.kept(`${way}_output`),
      })),
    });
    await client.until(() => since(client, from).some(({ type }) => type === 'response.completed'));
    expect(JSON.stringify(since(client, from).at(-1))).toContain(run.kept(`${way}_output`));
  }
}

async function interrupted(run: Run, client: SocketClient): Promise<void> {
  const from = client.events.length;
  const input = `${run.kept('interrupted')} [sim tokens=400 stall=20000]`;
  client.send({ type: 'response.create', ...run.body({ input }) });
  const response_id = await begun(client, from);
  client.send({ type: 'response.interrupt', response_id, mode: 'discard_partial_items' });
  await client.until(() => since(client, from).some(({ type }) => type === 'response.incomplete'));
  completed(
    await client.create({
      store: run.options.store,
      previous_response_id: response_id,
      input: [user(run.kept('after_interruption'))],
    }),
  );
}

/** A connection that is cut in the middle of a response, and gone on from on another one. */
export async function resumed(run: Run): Promise<void> {
  const lost = await run.socket();
  const store = { store: run.options.store };
  const called = completed(
    await lost.create({ ...store, tools: TOOLS, input: `${run.kept('lost_ask')} [sim calls=1]` }),
  );
  lost.send({
    type: 'response.create',
    ...run.body({ input: `${run.kept('lost_running')} [sim stall=300]` }),
  });
  lost.send({ type: 'response.create', ...run.body({ input: [user(run.passing('lost_queued'))] }) });
  await begun(lost, lost.events.length);
  lost.socket.terminate();
  await lost.untilClosed();
  const client = await run.socket();
  const outputs = callsOf(called).map(({ call_id }) => ({
    type: 'function_call_output',
    call_id,
    output: run.kept('resumed_output'),
  }));
  const next = completed(
    await client.create({ ...store, tools: TOOLS, previous_response_id: called.id, input: outputs }),
  );
  expect(JSON.stringify(next.output)).toContain(run.kept('resumed_output'));
  // Codex's way of going on: a warm-up, and the rest of the conversation behind it.
  const warm = completed(await client.create({ ...store, input: [], tools: TOOLS, generate: false }));
  completed(
    await client.create({
      ...store,
      previous_response_id: warm.id,
      tools: TOOLS,
      input: [user(run.kept('replayed_ask')), ...next.output, user(run.kept('replayed_more'))],
    }),
  );
}

/** Responses that are still being made when the server ends. */
export async function unfinished(run: Run): Promise<void> {
  const client = await run.socket();
  const from = client.events.length;
  const input = `${run.passing('unfinished_socket')} [sim tokens=400 stall=60000]`;
  client.send({ type: 'response.create', ...run.body({ input, stream_id: 'a' }) });
  client.send({
    type: 'response.create',
    ...run.body({ input: run.passing('unfinished_queued'), stream_id: 'a' }),
  });
  await begun(client, from);
  const answer = await fetch(`${run.options.url}/v1/responses`, {
    method: 'POST',
    headers: run.headers,
    body: JSON.stringify(
      run.body({ stream: true, input: `${run.passing('unfinished_http')} [sim tokens=400 stall=60000]` }),
    ),
  });
  await answer.body?.getReader().read();
}

function since(client: SocketClient, from: number): WireEvent[] {
  return client.events.slice(from);
}

/** The id of the response that has begun behind this event, once it has said something. */
async function begun(client: SocketClient, from: number): Promise<string> {
  await client.until(() => since(client, from).some(({ type }) => type.endsWith('.delta')));
  return since(client, from).find(({ type }) => type === 'response.created')?.response?.id ?? '';
}
