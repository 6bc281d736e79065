import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sse } from '../../libs/inference/testing/fake-engine.js';
import { delta, MessageServer, usage } from '../../libs/inference/testing/message-server.js';
import { idsOf, ScriptedEngine } from '../cases/scripted-engine.js';
import { App } from '../e2e/platform.js';
import type { WireItem } from '../e2e/socket-client.js';
import { SocketClient, terminalOf } from '../e2e/socket-client.js';
import { MARKER } from './marker.js';

/** A model behind a server that takes messages, beside one that takes token ids: what either writes, and what goes to both. */
const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
let hosted: MessageServer;
let engine: ScriptedEngine;
let gateway: App;

beforeAll(async () => {
  hosted = await MessageServer.start('/v1/chat/completions');
  engine = await ScriptedEngine.start();
  const lines = [
    'port: 0',
    'store: { kind: memory }',
    'safety: { output: on }',
    'engines:',
    `  hosted: { url: "${hosted.url}", kind: chat }`,
    `  own: { url: "${engine.url}", kind: vllm, structuredOutputs: false }`,
    'models:',
    '  hosted: { engine: hosted, engineModel: m, format: chat }',
    '  own: { engine: own }',
  ];
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(config, lines.join('\n'));
  gateway = await App.start('gateway', ['--config', config]);
});
afterAll(async () => {
  await gateway.stop();
  await hosted.stop();
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function post(body: object): Promise<{ status: number; raw: string }> {
  const answer = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', body: JSON.stringify(body) });
  return { status: answer.status, raw: await answer.text() };
}

const TOOLS = [{ type: 'function', name: 'send', parameters: { type: 'object', properties: {} } }];
const END = [usage(9, 0, 9, 0), sse('[DONE]')];
const args = (written: string, begins = {}) =>
  delta({ tool_calls: [{ index: 0, ...begins, function: { arguments: written } }] });
const called = { id: 'c', type: 'function' };
const letters = (wrap: (text: string) => unknown, text = MARKER) => [...text].map(wrap);

const OUTPUTS: Record<string, unknown[]> = {
  'an answer': [...letters((content) => delta({ content })), delta({}, 'stop')],
  reasoning: [
    ...letters((reasoning_content) => delta({ reasoning_content })),
    delta({ content: 'fine' }, 'stop'),
  ],
  'reasoning that goes on in the answer': [
    delta({ reasoning_content: MARKER.slice(0, 13) }),
    delta({ content: MARKER.slice(13) }, 'stop'),
  ],
  'the arguments of a call, in escapes': [
    delta({ tool_calls: [{ index: 0, ...called, function: { name: 'send', arguments: '{"body":"' } }] }),
    ...letters((letter) => args(letter), `${MARKER.replaceAll('T', '\\u0054')}"}`),
    delta({}, 'tool_calls'),
  ],
  'an answer that is lost': [...letters((content) => delta({ content }))],
};

describe.each(Object.entries(OUTPUTS))('%s that may not be shown', (name, chunks) => {
  it('ends as incomplete, and no byte of it is sent', async () => {
    hosted.play([...chunks, ...END], [...chunks, ...END]);
    const client = await SocketClient.connect(gateway.url);
    const { response } = terminalOf(
      await client.create({ model: 'hosted', input: 'hi', tools: TOOLS, store: false }),
    );
    const blocked = { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
    expect(response).toMatchObject(blocked);
    expect(response.output.filter(({ type }) => type === 'function_call')).toEqual([]);
    const { raw } = await post({ model: 'hosted', input: 'hi', tools: TOOLS });
    expect(JSON.parse(raw)).toMatchObject(blocked);
    client.close();
    // Reasoning is whole before an answer begins, and nothing by itself: the answer is what may not be shown.
    const isSplit = name.includes('goes on');
    for (const each of [...client.raw, raw]) {
      if (!isSplit) expect(each).not.toContain(MARKER.slice(0, 4));
      expect(each).not.toContain(MARKER.slice(13, 18));
    }
  });
});

describe('reasoning that a model wrote in another format', () => {
  it('is the word of the client that sends it back: its text is shown where its ids mean nothing', async () => {
    const said = (text: string) => `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant`;
    engine.play({ writes: [idsOf(`${said('hm')}<|channel|>final<|message|>ok<|return|>`)] });
    const { raw } = await post({ model: 'own', input: 'hi', store: false });
    const { output } = JSON.parse(raw) as { output: WireItem[] };
    const reasoning = output.find(({ type }) => type === 'reasoning');
    expect(reasoning?.['encrypted_content']).toMatch(/^tp1\./);
    const before = hosted.bodies.length;
    const changed = { ...reasoning, content: [{ type: 'reasoning_text', text: MARKER }] };
    for (const model of ['hosted', 'own']) {
      const input = [{ role: 'user', content: 'hi' }, changed, { role: 'user', content: 'and?' }];
      const refused = await post({ model, input, store: false });
      expect([refused.status, refused.raw]).toEqual([400, expect.stringContaining('content_blocked')]);
    }
    expect(hosted.bodies.length).toBe(before);
  });
});
