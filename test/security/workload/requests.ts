import { expect } from '@jest/globals';
import { ITEM_TYPES } from '@turnpike/protocol';
import { png } from '../../../libs/images/testing/samples.js';
import { everyItem } from './items.js';
import { callsOf, user, type Run } from './run.js';
import { everyTool } from './tools.js';

/** Every field of a request that takes text. */
export async function settings(run: Run): Promise<void> {
  const kept = (place: string) => run.kept(place);
  const response = await run.complete({
    instructions: kept('instructions'),
    input: [user(kept('input'))],
    tools: everyTool(kept),
    metadata: { [kept('metadata_key')]: kept('metadata_value') },
    user: kept('user'),
    safety_identifier: kept('safety_identifier'),
    prompt_cache_key: kept('prompt_cache_key'),
    service_tier: kept('service_tier'),
    reasoning: { effort: 'low', summary: kept('reasoning_setting') },
    text: { verbosity: kept('verbosity') },
    // What this server does not know.
    client_metadata: { [run.passing('client_metadata_key')]: run.passing('client_metadata_value') },
    prompt_cache_options: { comparison_response_id: run.passing('comparison_response_id') },
    [run.passing('unknown_field')]: { deep: [run.passing('unknown_value')] },
  });
  // The output holds text as well.
  expect(JSON.stringify(response.output)).toContain(kept('input'));
  await run.complete({ input: `${kept('input_text')} [sim calls=0]` });
  await run.complete({ input: [user(kept('warm_up'))], generate: false });
  await run.complete({
    input: [user(kept('format_input'))],
    text: {
      format: {
        type: 'json_schema',
        name: kept('format_name'),
        description: kept('format_description'),
        schema: {
          type: 'object',
          properties: { [kept('format_key')]: { type: 'string', const: kept('format_const') } },
          required: [kept('format_key')],
        },
      },
    },
  });
}

/** Every item there is, at once; and a tool loop, in which the model writes what it was told. */
export async function items(run: Run): Promise<void> {
  const kept = (place: string) => run.kept(place);
  const each = everyItem(kept);
  expect(Object.keys(each).toSorted()).toEqual([...ITEM_TYPES].toSorted());
  const ask = user(kept('items_ask'));
  await run.complete({ input: [...Object.values(each).flat(), ask] });
  const tools = [
    {
      type: 'function',
      name: 'lookup',
      parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    },
    { type: 'custom', name: 'scribble' },
  ];
  for (const marker of ['', 'custom=scribble ']) {
    const name = marker === '' ? 'function' : 'custom';
    const asked = { role: 'user', content: `${kept(`loop_${name}`)} [sim ${marker}calls=1 reason=8]` };
    const called = await run.complete({ tools, input: [asked], reasoning: { effort: 'medium' } });
    expect(JSON.stringify(callsOf(called))).toContain(kept(`loop_${name}`));
    // Sent whole, with what the server sealed: it is recognised.
    const outputs = callsOf(called).map(({ call_id }) => ({
      type: `${name === 'custom' ? 'custom_tool' : 'function'}_call_output`,
      call_id,
      output: kept(`loop_${name}_output`),
    }));
    const input = [asked, ...called.output, ...outputs];
    const answered = await run.complete({ tools, input });
    expect(JSON.stringify(answered.output)).toContain(kept(`loop_${name}_output`));
    const more = await run.complete({
      tools,
      input: [...input, ...answered.output, user(kept(`loop_${name}_more`))],
    });
    run.replays.push(answered.id, more.id);
  }
}

/** Images, in every way that one gets in or does not. */
export async function images(run: Run): Promise<void> {
  const { imagesUrl } = run.options;
  const withText = (place: string) => Buffer.concat([png(32, 32), Buffer.from(place)]).toString('base64');
  const image = (image_url: string, more: object = {}) => ({
    input: [
      { role: 'user', content: [{ type: 'input_image', image_url, ...more }] },
      user(run.kept('image_ask')),
    ],
  });
  await run.complete(image(`data:image/png;base64,${withText(run.kept('image_bytes'))}`));
  // The server of that image puts a text into it.
  run.kept('image_fetched');
  await run.complete(image(`${imagesUrl}/${run.kept('image_name')}`));
  const refused = (place: string) => [user(run.passing(place))];
  for (const [code, image_url] of [
    ['invalid_image_url', `data:image/png;name=${run.passing('image_parameter')};base64,AAAA`],
    ['invalid_image_url', `ftp://x/${run.passing('image_scheme')}`],
    [
      'invalid_image_format',
      `data:image/png;base64,${Buffer.from(run.passing('image_broken')).toString('base64')}`,
    ],
    ['invalid_base64_image', `data:image/png;base64,${run.passing('image_text')}`],
    ['failed_to_download_image', `http://127.0.0.1:9/${run.passing('image_private')}`],
    ['failed_to_download_image', `${imagesUrl}/broken/${run.passing('image_missing')}`],
  ] as const) {
    await run.refuse({ input: [...image(image_url).input, ...refused('image_refused')] }, code);
  }
  await run.refuse(
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: run.passing('image_file') }] }] },
    'unsupported_parameter',
  );
  const file = {
    type: 'input_file',
    filename: run.passing('file_name'),
    file_data: run.passing('file_data'),
  };
  await run.refuse({ input: [{ role: 'user', content: [file] }] }, 'unsupported_parameter');
}

/** Streams that end, that break off because the engine does, and that their clients leave. */
export async function streams(run: Run): Promise<void> {
  const whole = await run.post({ stream: true, input: [user(run.kept('stream_input'))] });
  expect(whole.text).toContain('event: response.completed');
  for (const marker of ['die=20', 'error=20', 'status=500', 'status=429', 'badjson=1']) {
    const place = `stream_${marker.replace(/[^a-z]/g, '')}`;
    const text = {
      format: { type: 'json_schema', name: 'x', schema: { title: run.kept(`${place}_schema`) } },
    };
    const input = `${run.kept(place)} [sim tokens=40 ${marker}]`;
    const { text: events } = await run.post({ stream: true, input, text });
    expect(events).toContain('response.failed');
  }
  for (const stream of [true, false]) await leave(run, stream);
}

/** A client that goes while it is answered. */
async function leave(run: Run, stream: boolean): Promise<void> {
  const gone = new AbortController();
  const input = `${run.kept(stream ? 'left_stream' : 'left_json')} [sim tokens=200 stall=60000]`;
  const answer = fetch(`${run.options.url}/v1/responses`, {
    method: 'POST',
    headers: run.headers,
    body: JSON.stringify(run.body({ stream, input })),
    signal: gone.signal,
  });
  await run.untilEngineRuns(1);
  gone.abort();
  await answer.then((left) => left.text()).catch(() => undefined);
  await run.untilEngineRuns(0);
}

/** Conversations made short, in the three ways, and gone on from. */
export async function compaction(run: Run): Promise<void> {
  const trigger = { type: 'compaction_trigger' };
  const post = async (path: string, input: object[]) => {
    const { status, text } = await run.post({ input }, { path });
    expect([status, text]).toEqual([200, text]);
    return JSON.parse(text) as { output: object[] };
  };
  const rule = { role: 'developer', content: run.kept('compact_rule') };
  const window = await post('/v1/responses/compact', [rule, user(run.passing('compact_input'))]);
  await run.complete({ input: [...window.output.slice(1), user(run.kept('compact_next'))] });
  const asked = { role: 'developer', content: run.kept('trigger_rule') };
  const summary = await run.complete({ input: [asked, user(run.kept('trigger_input')), trigger] });
  expect(summary.output.map(({ type }) => type)).toEqual(['compaction']);
  await run.complete({ input: [...summary.output, user(run.kept('trigger_next'))] });
  const due = await run.complete({
    context_management: [{ type: 'compaction', compact_threshold: 50 }],
    input: [
      { role: 'developer', content: run.kept('due_rule') },
      user(`${run.kept('due_input')} ${'word '.repeat(80)}`),
    ],
  });
  expect(due.output.map(({ type }) => type)).toContain('compaction');
  await post('/v1/responses/input_tokens', [user(run.passing('counted'))]);
}
