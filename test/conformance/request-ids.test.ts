import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { SocketClient, type WireEvent } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());

it('90. error frames carry a request id in headers and in error.headers, one for each', async () => {
  const client = await SocketClient.connect(stand.url);
  const frames = [
    'not json',
    { type: 'nonsense' },
    { type: 'response.create', input: 'x' },
    { type: 'response.create', model: 'nope', input: 'x', stream_id: 'main' },
    { type: 'response.create', model: 'sim', input: 'x', previous_response_id: 'resp_gone' },
    { type: 'response.create', model: 'sim', input: 'x', stream_id: '' },
  ];
  for (const frame of frames) client.send(frame);
  await client.until(() => client.events.length === frames.length);
  const ids = client.events.map((event) => {
    const { headers, error } = event as WireEvent & {
      headers: Record<string, string>;
      error: { headers: Record<string, string> };
    };
    expect(headers['x-request-id']).toMatch(/^req_/);
    expect(error.headers).toEqual(headers);
    return headers['x-request-id'];
  });
  expect(new Set(ids).size).toBe(frames.length);
  client.close();
});
