import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { App } from './platform.js';

describe('metrics', () => {
  let app: App;
  beforeAll(async () => {
    app = await App.start('gateway', [], { PORT: '0', METRICS_PORT: '0' });
  });
  afterAll(() => app.stop());

  it('tell of turns and tokens on a port of their own, and not on that of the API', async () => {
    const body = JSON.stringify({ model: 'sim', input: 'a word that nobody counts' });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${app.url}/v1/responses`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    const { usage } = (await answer.json()) as { usage: { input_tokens: number } };

    const url = /metrics on (\S+)/.exec(app.output())?.[1] ?? '';
    const text = await (await fetch(url)).text();
    expect(text).toContain('turnpike_turns_total{model="sim",transport="http",status="completed"} 1\n');
    expect(text).toContain(`turnpike_tokens_total{model="sim",kind="input"} ${usage.input_tokens}\n`);
    for (const until of ['engine_asked', 'first_token', 'end'])
      expect(text).toContain(`turnpike_turn_seconds_count{transport="http",until="${until}"} 1\n`);
    expect(text).not.toContain('nobody counts');
    expect((await fetch(`${app.url}/metrics`)).status).toBe(404);
  });
});
