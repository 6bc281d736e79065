import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, FAST } from './platform.js';

const COUNT = 100_000;
let folder: string;
let engine: App;
let gateway: App;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '2000000', ...FAST]);
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    [
      'port: 0',
      `engines: { engine: { url: "${engine.url}", kind: vllm } }`,
      'models: { sim: { engine: engine, contextTokens: 2000000 } }',
    ].join('\n'),
  );
  gateway = await App.start('gateway', ['--config', 'turnpike.yaml'], {}, folder);
});
afterAll(async () => {
  await gateway.stop();
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly id?: string;
  readonly status?: string;
  readonly error?: { readonly code?: string; readonly type?: string } | null;
  readonly usage?: { readonly input_tokens: number };
}

async function post(body: object): Promise<{ status: number; answer: Answer }> {
  const sent = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', max_output_tokens: 16, ...body }),
  });
  return { status: sent.status, answer: (await sent.json()) as Answer };
}

/** D12: sizes that nobody sends by accident are taken or refused; no stack overflows. */
describe('one request', () => {
  it('of 100,000 items is taken, and gone on from', async () => {
    const input = Array.from({ length: COUNT }, () => ({ role: 'user', content: 'go on. ' }));
    const { status, answer } = await post({ input });
    expect([status, answer.error ?? null]).toEqual([200, null]);
    expect(answer.usage?.input_tokens).toBeGreaterThan(COUNT);
    const next = await post({ previous_response_id: answer.id, input: 'go on' });
    expect([next.status, next.answer.error ?? null]).toEqual([200, null]);
    expect(next.answer.usage?.input_tokens).toBeGreaterThan(answer.usage?.input_tokens ?? 0);
  });

  it('of one item with 130,000 parts, or one output with as many, as well', async () => {
    const parts = Array.from({ length: 1.3 * COUNT }, () => ({ type: 'input_text', text: 'a b' }));
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    for (const input of [
      [{ role: 'user', content: parts }],
      [call, { type: 'function_call_output', call_id: 'c', output: parts }],
    ]) {
      const { status, answer } = await post({ input, store: false });
      // Either is an answer to it; that this server fails is none.
      expect(status).toBeLessThan(500);
      expect(answer.error?.code ?? 'none').not.toBe('server_error');
    }
    expect((await post({ input: 'still there?' })).answer.status).toBeDefined();
  });
});
