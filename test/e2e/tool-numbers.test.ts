import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import { poll } from './background-client.js';
import { App, FAST, startGateway } from './platform.js';
import { Recorder } from './recorder.js';

let engine: App;
let recorder: Recorder;
let app: Awaited<ReturnType<typeof startGateway>>;
beforeAll(async () => {
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]);
  recorder = await Recorder.start(engine.url);
  app = await startGateway(recorder.url);
});
afterAll(async () => {
  await app.stop();
  app.cleanUp();
  await recorder.stop();
  await engine.stop();
});

/** A tool of which `JSON.parse` and `JSON.stringify` make another: the order of its keys, and its numbers. */
const tool = (name: string) =>
  `{"type":"function","name":"${name}","parameters":{"type":"object","properties":` +
  '{"2":{"type":"number","default":1.0},"1":{"type":"integer","default":12345678901234567890}}}}';
const shown = (name: string) =>
  `type ${name} = (_: {\n2?: number, // default: 1.0\n1?: number, // default: 12345678901234567890\n}) => any;`;
const ADDED = `{"type":"additional_tools","role":"developer","tools":[${tool('added')}]}`;
const ASK = '{"type":"message","role":"user","content":"hi"}';

/** Sends JSON as it is written. */
async function post(path: string, body: string): Promise<{ id: string }> {
  const answer = await fetch(`${app.url}${path}`, { method: 'POST', body });
  expect([answer.status, answer.ok ? '' : await answer.text()]).toEqual([200, '']);
  return (await answer.json()) as { id: string };
}
const prompt = () => o200kHarmony().decode(recorder.prompts.at(-1) ?? []);

it.each(['false', 'true'])(
  'C14: the model is shown tools as they were sent, with background: %s',
  async (background) => {
    const { id } = await post(
      '/v1/responses',
      `{"model":"sim","background":${background},"tools":[${tool('own')}],"input":[${ADDED},${ASK}]}`,
    );
    await poll(app.url, id);
    expect(prompt()).toContain(shown('own'));
    expect(prompt()).toContain(shown('added'));
  },
);

it('C14: the model is shown tools in a conversation as they were sent', async () => {
  const { id } = await post('/v1/conversations', `{"items":[${ADDED}]}`);
  await post('/v1/responses', `{"model":"sim","conversation":"${id}","input":[${ASK}]}`);
  expect(prompt()).toContain(shown('added'));
});
