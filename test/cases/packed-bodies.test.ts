import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Stand } from '../e2e/stand.js';

/** Reported failures of servers with bodies that are packed, each by its number. */
let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());

describe('packed bodies', () => {
  const body = JSON.stringify({
    model: 'sim',
    input: 'packed like herrings in a barrel, '.repeat(20),
    store: false,
  });
  /** The same body as the zstd command packs it at level 3. */
  const ZSTD = Buffer.from(
    'KLUv/WTVAW0CAHKEDxagpW1HeCrVRISA/NZSM/tfyvqy/14Dg28eYWLXtNYjr3qCzwi9BULVA3yD6XIznFoBhdA87OCaieVLOiYIAwC4RAA0qKh6x5pNsq1csA==',
    'base64',
  );
  const send = async (coding: string, data: Buffer | string) => {
    const headers = { 'content-encoding': coding, 'content-type': 'application/json' };
    const answer = await fetch(`${stand.url}/v1/responses`, { method: 'POST', headers, body: data });
    return { status: answer.status, text: await answer.text() };
  };

  it('A30: zstd, gzip, deflate and br are unpacked', async () => {
    stand.takePromptIds();
    for (const [coding, data] of [
      ['identity', body],
      ['zstd', ZSTD],
      ['gzip', gzipSync(body)],
      ['deflate', deflateSync(body)],
      ['br', brotliCompressSync(body)],
    ] as const) {
      expect([coding, (await send(coding, data)).status]).toEqual([coding, 200]);
    }
    const prompts = stand.takePromptIds();
    expect(prompts).toHaveLength(5);
    for (const prompt of prompts) expect(prompt).toEqual(prompts[0]);
  });

  it('A30: another coding is a 415, a corrupt body a 400, a bomb a 413', async () => {
    for (const coding of ['foo', 'compress', 'gzip, gzip'])
      expect((await send(coding, body)).status).toBe(415);
    for (const [coding, data] of [
      ['zstd', ZSTD.subarray(0, -5)],
      ['zstd', ZSTD.subarray(0, 3)],
      ['zstd', Buffer.from(body)],
      ['gzip', gzipSync(body).subarray(0, 40)],
      ['br', Buffer.from('not brotli at all')],
      ['deflate', Buffer.alloc(0)],
    ] as const) {
      expect([coding, (await send(coding, data)).status]).toEqual([coding, 400]);
    }
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, 0x20));
    expect(bomb.length).toBeLessThan(100_000);
    const refused = await send('gzip', bomb);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      413,
      { error: { code: 'body_too_large' } },
    ]);
  });
});
