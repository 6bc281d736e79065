import { expect } from '@jest/globals';
import type { SocketClient, WireEvent } from '../../e2e/socket-client.js';
import { callsOf, completed, user, type Run, type WireResponse } from './run.js';

type Fields = Record<string, unknown>;

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
const COMPACTS = { context_management: [{ type: 'compaction', compact_threshold: 20 }] };

/**
 * Responses that are stored behind responses that are not, in every way in which one can bring along what was before it:
 * prompts whose reasoning is cut, summaries, reports and errors. What the parents say is `passing`.
 */
export async function successors(run: Run): Promise<void> {
  const client = await run.socket();
  const hidden = async (place: string, items: object[] = []) => await parent(run, client, place, items);
  const stored = (place: string, { id }: WireResponse, fields: Fields = {}) =>
    client.create({ store: true, previous_response_id: id, input: [user(run.kept(place))], ...fields });

  const first = completed(await stored('behind_plain', await hidden('plain', [imageOf(run)])));
  // While it is in memory it goes on over both transports, and in the background.
  const next = completed(await stored('behind_stored', first));
  const more = { store: true, previous_response_id: next.id };
  await run.complete({ ...more, input: [user(run.kept('behind_http'))] });
  const queued = { ...more, background: true, input: [user(run.kept('behind_background'))] };
  const { text } = await run.post(queued);
  await ended(run, (JSON.parse(text) as { id: string }).id);

  const lane = await hidden('compacted');
  const compacted = completed(await stored('behind_compacted', lane, COMPACTS));
  expect(compacted.output[0]).toMatchObject({
    type: 'compaction',
    encrypted_content: expect.stringMatching(/^tp1/),
  });
  // It stays usable where it was made.
  expect(completed(await stored('behind_compaction', compacted)).output).not.toEqual([]);
  const trigger = [user(run.kept('behind_triggered')), { type: 'compaction_trigger' }];
  completed(await stored('behind_triggered', await hidden('triggered'), { input: trigger }));
  failed(
    await stored('behind_dying', await hidden('dying'), {
      ...COMPACTS,
      input: `${run.kept('behind_dying')} [sim calls=0 tokens=80 die=60]`,
    }),
  );
  const { id } = await hidden('schema');
  const update = { store: false, generate: false, previous_response_id: id, input: [schemaOf(run)] };
  failed(await stored('behind_schema', completed(await client.create(update))));
  const lost = await run.socket();
  const left = await parent(run, lost, 'lost', []);
  lost.socket.terminate();
  await lost.untilClosed();
  const input = [user(run.kept('behind_lost'))];
  const found = await run.socket();
  completed(await found.create({ store: true, previous_response_id: left.id, input }));
}

/** A tool loop with reasoning and tools, and a text of its own in everything, not to be stored. */
async function parent(
  run: Run,
  client: SocketClient,
  place: string,
  items: readonly object[],
): Promise<WireResponse> {
  const text = (part: string) => run.passing(`${place}_${part}`);
  const settings = {
    store: false,
    instructions: text('instructions'),
    reasoning: { effort: 'high' },
  };
  const added = {
    type: 'additional_tools',
    role: 'developer',
    tools: [{ type: 'function', name: text('added'), description: text('added') }, { type: text('type') }],
  };
  const called = completed(
    await client.create({
      ...settings,
      tools: TOOLS,
      metadata: { note: text('metadata') },
      input: [
        added,
        { role: 'developer', content: text('rule') },
        ...items,
        { role: 'user', content: `${text('asked')} [sim tool=look calls=1 reason=40]` },
      ],
    }),
  );
  const outputs = callsOf(called).map(({ call_id }) => ({
    type: 'function_call_output',
    call_id,
    output: text('output'),
  }));
  const answered = completed(
    await client.create({ ...settings, previous_response_id: called.id, tools: TOOLS, input: outputs }),
  );
  expect(JSON.stringify(answered.output)).toContain(text('output'));
  return answered;
}

/** An image that is fetched, so that it is kept apart from its item. */
function imageOf(run: Run): object {
  const image_url = `${run.options.imagesUrl}/${run.passing('plain_image')}`;
  return { role: 'user', content: [{ type: 'input_image', image_url }] };
}

/** An item that makes all answers behind it follow a schema which the model's do not. */
function schemaOf(run: Run): object {
  const key = run.passing('schema_key');
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    patternProperties: { [`^a|${key}`]: { pattern: '^\\d+$' } },
  };
  const format = { type: 'json_schema', name: run.passing('schema_name'), schema };
  return { type: 'configuration_update', text: { format } };
}

function failed(events: readonly WireEvent[]): void {
  expect(events.at(-1)?.type).toBe('response.failed');
}

async function ended(run: Run, id: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${run.options.url}/v1/responses/${id}`, { headers: run.headers });
    const { status } = (await answer.json()) as WireResponse;
    if (!['queued', 'in_progress'].includes(status)) return expect(status).toBe('completed');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
