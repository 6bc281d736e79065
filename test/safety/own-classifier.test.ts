import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SafetyModule } from '@turnpike/safety';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { configSchema } from '../../apps/gateway/src/config/schema.js';
import { createGateway } from '../../apps/gateway/src/start.js';
import { idsOf, ScriptedEngine } from '../cases/scripted-engine.js';
import { ProjectNames, Projects } from './own-classifier.js';

/** The example of docs/safety.md, as it stands there. */
let engine: ScriptedEngine;
let app: NestExpressApplication;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  const config = configSchema.parse({
    port: 0,
    engines: { e: { url: engine.url, kind: 'vllm', structuredOutputs: false } },
    models: { sim: { engine: 'e' } },
    store: { kind: 'memory' },
    sealingKeyFile: `/tmp/turnpike-own-classifier-${process.pid}.key`,
    log: 'silent',
  });
  app = await createGateway(
    config,
    [],
    SafetyModule.register({ classifier: ProjectNames, providers: [Projects] }),
  );
  await app.listen(0, '127.0.0.1');
});
afterAll(async () => {
  await app.close();
  await engine.stop();
});

async function ask(input: string, previous_response_id?: string) {
  engine.play({ writes: [idsOf('<|channel|>final<|message|>ok<|return|>')] });
  const { port } = app.getHttpServer().address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', input, ...(previous_response_id && { previous_response_id }) }),
  });
  return { status: answer.status, body: (await answer.json()) as { id: string; error: { message: string } } };
}

describe('a classifier of one’s own', () => {
  it('decides about what the rules let through', async () => {
    const first = await ask('Tell me about the project');
    expect(first.status).toBe(200);
    expect(await ask('Which one? Project Heron.', first.body.id)).toMatchObject({
      status: 400,
      body: { error: { code: 'content_blocked', message: expect.stringContaining('privacy') } },
    });
    expect((await ask('Which one? Project Herring.', first.body.id)).status).toBe(200);
  });

  it('is the example of the guide, and under 40 lines', () => {
    const example = readFileSync(new URL('own-classifier.ts', import.meta.url), 'utf8').trim();
    expect(example.split('\n').length).toBeLessThan(40);
    expect(readFileSync(new URL('../../docs/safety.md', import.meta.url), 'utf8')).toContain(example);
  });
});
