import { describe, expect, it } from '@jest/globals';
import { Agent, createServer, request as send, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { ApiError } from '@turnpike/protocol';
import { readBody } from './read-body.js';

/** A request with this body, in these chunks. */
function requestOf(chunks: readonly (string | Buffer)[], headers: Record<string, string> = {}) {
  const body = Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );
  return Object.assign(body, { headers }) as unknown as IncomingMessage;
}

async function errorOf(request: IncomingMessage, limit = 1_000): Promise<ApiError> {
  try {
    await readBody(request, limit);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the body was taken');
}

describe('readBody', () => {
  it('joins the chunks, wherever a character is cut', async () => {
    const bytes = Buffer.from('{"text":"é😀"}');
    for (let place = 0; place <= bytes.length; place++) {
      const request = requestOf([bytes.subarray(0, place), bytes.subarray(place)]);
      expect(await readBody(request, 1_000)).toBe('{"text":"é😀"}');
    }
    expect(await readBody(requestOf([]), 1_000)).toBe('');
  });

  it('drops a byte order mark', async () => {
    expect(await readBody(requestOf(['\ufeff{}']), 1_000)).toBe('{}');
  });

  it('takes a body of exactly the limit', async () => {
    expect(await readBody(requestOf(['12345', '67890'], { 'content-length': '10' }), 10)).toBe('1234567890');
  });

  it('refuses by Content-Length without reading', async () => {
    const request = requestOf(['12345678901'], { 'content-length': '11' });
    const error = await errorOf(request, 10);
    expect(error.body).toMatchObject({
      code: 'body_too_large',
      message: 'The body is larger than 10 bytes.',
    });
    expect(error.status).toBe(413);
    expect(request.readableDidRead).toBe(false);
  });

  it.each([
    ['without a length', {}],
    ['with a length that is not true', { 'content-length': '3' }],
  ])('refuses while reading, %s', async (_, headers) => {
    expect((await errorOf(requestOf(['12345', '678901'], headers), 10)).code).toBe('body_too_large');
  });

  it('refuses bytes that are not UTF-8', async () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
      const error = await errorOf(requestOf([Buffer.from(bytes)]));
      expect(error.body).toMatchObject({
        code: 'invalid_json',
        message: 'The body is not complete UTF-8 text.',
      });
    }
  });

  it('refuses a body that is cut short', async () => {
    const request = requestOf(['{"a":']);
    request.once('data', () => request.destroy(new Error('aborted')));
    expect((await errorOf(request)).code).toBe('invalid_json');
  });

  it.each(['compress', 'gzip, identity'])('refuses a body in %s', async (encoding) => {
    const error = await errorOf(requestOf(['x'], { 'content-encoding': encoding }));
    expect([error.code, error.status]).toEqual(['unsupported_encoding', 415]);
  });

  it('takes a body that says it is not encoded', async () => {
    expect(await readBody(requestOf(['x'], { 'content-encoding': 'identity' }), 10)).toBe('x');
  });

  it('leaves the connection whole, so that the refusal arrives and the next request works', async () => {
    const server = createServer((request, response) => {
      readBody(request, 1_000).then(
        (body) => response.end(String(body.length)),
        (error: ApiError) => response.writeHead(error.status).end(error.code),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    const post = (body: Buffer, headers: Record<string, string>) =>
      new Promise<string>((resolve, reject) => {
        const { port } = server.address() as AddressInfo;
        const request = send({ port, host: '127.0.0.1', method: 'POST', agent, headers }, (response) => {
          sockets.add(response.socket);
          response
            .setEncoding('utf8')
            .on('data', (text: string) => resolve(`${response.statusCode} ${text}`));
        });
        request.on('error', reject).end(body);
      });
    try {
      const large = Buffer.alloc(2_000_000, 'x');
      expect(await post(large, { 'transfer-encoding': 'chunked' })).toBe('413 body_too_large');
      expect(await post(large, { 'content-length': String(large.length) })).toBe('413 body_too_large');
      expect(await post(Buffer.from('fine'), {})).toBe('200 4');
      expect(sockets.size).toBe(1);
    } finally {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
