import { ClientRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { chat, responses, type Format } from '@turnpike/formats';
import { createEngine, type EngineKind } from '@turnpike/inference';
import { begin, FakeEngine, sse, tokens } from '../../libs/inference/testing/fake-engine.js';
import { ANSWER, format, serviceOf } from '../../apps/gateway/testing/engine-service.js';

/** What is written of requests to engines, as views of memory. */
class WrittenBodies {
  /** Of each memory that was written from, up to where. */
  readonly #known = new Map<ArrayBufferLike, [from: number, to: number][]>();
  /** Of each request: bytes of its body, and those of them that no request before it was written from. */
  readonly bodies: { bytes: number; fresh: number }[] = [];
  #last: ClientRequest | undefined;

  add(request: ClientRequest, piece: Uint8Array): void {
    if (request !== this.#last) this.bodies.push({ bytes: 0, fresh: 0 });
    this.#last = request;
    const body = this.bodies.at(-1) ?? { bytes: 0, fresh: 0 };
    body.bytes += piece.length;
    body.fresh += this.#freshOf(piece);
  }

  #freshOf({ buffer, byteOffset: from, length }: Uint8Array): number {
    const known = this.#known.get(buffer) ?? [];
    this.#known.set(buffer, known);
    const to = from + length;
    const part = known.find((each) => each[0] <= from && from <= each[1]);
    if (part === undefined) {
      known.push([from, to]);
      return length;
    }
    const fresh = Math.max(0, to - part[1]);
    part[1] = Math.max(part[1], to);
    return fresh;
  }
}

/** What each kind of server says to a request. */
const SAID: Record<'vllm' | 'chat' | 'responses', string> = {
  vllm: sse(tokens([...ANSWER.ids], 'stop'), '[DONE]'),
  chat: sse(
    { choices: [{ index: 0, delta: { reasoning_content: 'hm', content: 'hi' }, finish_reason: 'stop' }] },
    '[DONE]',
  ),
  responses: sse(
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hi', annotations: [] }],
      },
    },
    { type: 'response.completed', response: { status: 'completed', output: [] } },
  ),
};

let server: FakeEngine;
let written: WrittenBodies;
beforeEach(() => {
  written = new WrittenBodies();
  const { prototype } = ClientRequest;
  const write = Reflect.get(prototype, 'write') as (this: ClientRequest, piece: Uint8Array) => boolean;
  jest.spyOn(prototype, 'write').mockImplementation(function (this: ClientRequest, piece: Uint8Array) {
    written.add(this, piece);
    return write.call(this, piece);
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await server.stop();
});

const TURNS = 60;
/** 30 KB that begin as a GIF of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const IMAGE = `data:image/gif;base64,${Buffer.concat([PIXEL, Buffer.alloc(30_000)]).toString('base64')}`;
/** Bytes of settings and brackets, of what the answer and the template add, and of a new text of 300 bytes as ids. */
const MOST_FRESH = 2_500;

async function bodiesOf(kind: keyof typeof SAID & EngineKind, spoken: Format) {
  server = await FakeEngine.start(({ response }) => {
    begin(response);
    response.end(SAID[kind]);
  });
  const images = 'content_parts' as const;
  const engine = createEngine({ name: 'e', url: server.url, kind, images, idleTimeoutMs: 60_000 });
  const rule = { tokens: 'fixed', each: 10 } as const;
  const { run } = serviceOf({ engine, format: spoken, contextTokens: 1_000_000, images: rule });
  const tools = Array.from({ length: 30 }, (_, index) => ({
    type: 'function',
    name: `tool_${index}`,
    description: 'Reads a file. '.repeat(20),
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
  }));
  let previous: string | undefined;
  for (let turn = 0; turn < TURNS; turn++) {
    const words = { type: 'input_text', text: `${turn} `.repeat(100) };
    const image = { type: 'input_image', image_url: IMAGE, detail: 'low' };
    const input = [{ role: 'user', content: turn === 0 ? [words, image] : [words] }];
    const { response } = await run({ tools, input, previous_response_id: previous });
    expect(response).toMatchObject({ status: 'completed' });
    previous = response.id;
  }
  await engine.close();
  return written.bodies;
}

describe('the body of a request to an engine', () => {
  it.each([
    ['vllm', format],
    ['chat', chat()],
    ['responses', responses()],
  ] as const)(
    'is written from the same memory in every turn, but for what is new in it: %s',
    async (kind, spoken) => {
      const bodies = await bodiesOf(kind, spoken);
      expect(bodies).toHaveLength(TURNS);
      const [first, ...later] = bodies;
      expect(first?.fresh).toBeGreaterThan(IMAGE.length + 4 * MOST_FRESH);
      expect(bodies.at(-1)?.bytes).toBeGreaterThan(IMAGE.length + 10 * MOST_FRESH);
      // Memory that has become too small is moved to twice as much: a turn may pay for others.
      const fresh = later.reduce((sum, body) => sum + body.fresh, 0);
      expect(fresh / later.length).toBeLessThan(MOST_FRESH);
    },
  );
});
