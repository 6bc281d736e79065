import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ModelsQuestion } from './ask-models.js';

let server: Server;
let question: ModelsQuestion;
let paths: string[];
let answer: RequestListener;

beforeEach(async () => {
  paths = [];
  server = createServer((request, response) => {
    paths.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await question.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** What becomes of the question when the engine does this. */
function ask(as: RequestListener, timeoutMs = 5_000) {
  answer = as;
  question = new ModelsQuestion(timeoutMs);
  return question.ask({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
}

const sends =
  (status: number, body: string, headers = {}): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

describe('asking an engine for its models', () => {
  it('gets a list', async () => {
    expect(await ask(sends(200, '{"data":[{"id":"m"}]}'))).toEqual({ kind: 'list', models: [{ id: 'm' }] });
    expect(paths).toEqual(['/v1/models']);
  });

  it.each([
    ['a page', 200, '<html>hello'],
    ['another object', 200, '{"status":"ok"}'],
    ['nothing there', 404, '{"data":[{"id":"m"}]}'],
    ['no key', 401, ''],
    ['a list without end', 200, `{"data":[${' '.repeat(5_000_000)}]}`],
  ])('gets no list: %s', async (_, status, body) => {
    expect(await ask(sends(status, body))).toEqual({ kind: 'other', status });
  });

  it('follows no redirect', async () => {
    expect(await ask(sends(302, '', { location: '/elsewhere' }))).toEqual({ kind: 'other', status: 302 });
    expect(paths).toEqual(['/v1/models']);
  });

  it.each([
    [sends(503, '{"error":{"message":"Loading model"}}'), 1_000],
    [sends(429, '', { 'retry-after': '7' }), 7_000],
    [sends(503, '', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }), 1_000],
  ])('is told to wait', async (as, retryAfterMs) => {
    expect(await ask(as)).toEqual({ kind: 'busy', retryAfterMs });
  });

  it('gets no answer', async () => {
    expect(await ask(() => undefined, 30)).toEqual({ kind: 'silent', reason: 'TimeoutError' });
    expect(await ask((request) => request.socket.destroy())).toEqual({
      kind: 'silent',
      reason: 'UND_ERR_SOCKET',
    });
  });

  it('finds nobody', async () => {
    question = new ModelsQuestion(5_000);
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await question.ask({ url: `http://127.0.0.1:${port}` })).toEqual({
      kind: 'unreachable',
      reason: 'ECONNREFUSED',
    });
    server.listen(0);
  });
});
