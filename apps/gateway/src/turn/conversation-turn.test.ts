import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryConversationStore } from '@turnpike/conversation';
import { call, final, thoughtful, Turns } from '../../testing/conversation-turns.js';

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

describe('a turn of a conversation', () => {
  it('reads what came before, and adds what it brought and what was answered', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation('before');
    const { response } = await turns.run({ conversation, input: 'a' });
    expect(response).toMatchObject({
      status: 'completed',
      conversation: { id: conversation },
      previous_response_id: null,
    });
    await turns.run({ conversation: { id: conversation }, input: 'b' });
    expect(await turns.texts(conversation)).toEqual(['before', 'a', 'answer 1', 'b', 'answer 2']);
    const [, , first] = await turns.items(conversation);
    expect(first?.id).toBe(response.output[0]?.id);
    expect((await turns.items(conversation)).map((item) => 'status' in item && item.status)).toEqual(
      Array(5).fill('completed'),
    );
  });

  it('gives the engine what a chain of responses gives it, by every way that leads there', async () => {
    const chain = new Turns();
    let previous: string | undefined;
    for (const input of ['a', 'b', 'c']) {
      const named = previous === undefined ? {} : { previous_response_id: previous };
      previous = (await chain.run({ input, ...named })).response.id;
    }
    const ways: Record<string, (turns: Turns, id: string) => unknown> = {
      'the head': () => undefined,
      'all items, for want of the head': async (turns, id) => {
        turns.responses.delete('tenant', (await turns.head(id)) ?? '');
      },
      'all items, for a change': async (turns, id) => {
        await turns.add(id, 'x');
        const running = await turns.begin({ conversation: id, input: 'y' });
        await turns.add(id, 'z');
        await running.end();
        for (let extra = 0; extra < 4; extra++) await turns.remove(id, 4);
        turns.prompts.length = 2;
      },
    };
    for (const [way, between] of Object.entries(ways)) {
      const turns = new Turns();
      const conversation = await turns.conversation();
      await turns.run({ conversation, input: 'a' });
      await turns.run({ conversation, input: 'b' });
      await between(turns, conversation);
      await turns.run({ conversation, input: 'c' });
      expect({ way, prompts: turns.prompts }).toEqual({ way, prompts: chain.prompts });
    }
  });

  it('encodes its new tokens only, however long the conversation is', async () => {
    const costOfTheNext = async (before: number) => {
      const turns = new Turns();
      const conversation = await turns.conversation();
      for (let turn = 0; turn < before; turn++) await turns.run({ conversation, input: 'some words' });
      await turns.add(conversation, 'more words');
      const encoded = turns.encoded;
      await turns.run({ conversation, input: 'the last words' });
      return turns.encoded - encoded;
    };
    expect(await costOfTheNext(40)).toBe(await costOfTheNext(1));
  });

  it('lists in its response what was folded in with it', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation('before');
    const { response } = await turns.run({ conversation, input: 'a' });
    const { input } = turns.responses.find('tenant', response.id) ?? {};
    expect(input).toEqual((await turns.items(conversation)).slice(0, 2));
  });

  it('adds the input of a warm-up', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation();
    const { response } = await turns.run({ conversation, input: 'a', generate: false });
    expect(await turns.texts(conversation)).toEqual(['a']);
    expect(await turns.head(conversation)).toBe(response.id);
  });

  it('adds what an incomplete response has, and nothing of a failed one', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation();
    turns.answer = async function* (text) {
      await Promise.resolve();
      yield { ids: final(text).slice(0, -2), finish: 'length' };
    };
    const cut = await turns.run({ conversation, input: 'a' });
    expect(cut.response.status).toBe('incomplete');
    expect(await turns.texts(conversation)).toEqual(['a', 'answer ']);
    turns.answer = () => {
      throw new Error('the engine is down');
    };
    const { response } = await turns.run({ conversation, input: 'b' });
    expect(response.status).toBe('failed');
    expect(await turns.texts(conversation)).toEqual(['a', 'answer ']);
    expect(await turns.head(conversation)).toBe(cut.response.id);
  });

  it('that cannot be added ends as failed, and can be asked about', async () => {
    class Broken extends MemoryConversationStore {
      override append(): boolean {
        throw new Error('the disk is full');
      }
    }
    const turns = new Turns(new Broken(1_000_000));
    const conversation = await turns.conversation();
    const { response, failure, frames } = await turns.run({ conversation, input: 'a' });
    expect(response.status).toBe('failed');
    expect(failure?.code).toBe('server_error');
    expect(frames.filter(({ type }) => /completed$|failed$|incomplete$/.test(type)).at(-1)?.type).toBe(
      'response.failed',
    );
    expect(turns.responses.find('tenant', response.id)?.response).toEqual(response);
  });

  it('is refused for an unknown conversation before there is a response', async () => {
    const turns = new Turns();
    await expect(turns.run({ conversation: 'conv_unknown', input: 'a' })).rejects.toMatchObject({
      code: 'conversation_not_found',
      status: 404,
      param: 'conversation',
      message: "Conversation with id 'conv_unknown' not found.",
    });
  });
});

describe('a field at fault', () => {
  it('is named as it stands in the request, or as the conversation', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation('before', 'and before');
    const image = [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:' }] }];
    await expect(turns.run({ conversation, input: image })).rejects.toMatchObject({
      param: 'input[0].content[0]',
    });
    const orphan = [{ type: 'function_call_output', call_id: 'c', output: 'x' }];
    await expect(turns.run({ conversation, input: orphan })).rejects.toMatchObject({ param: 'input' });

    turns.answer = async function* () {
      await Promise.resolve();
      yield { ids: call(), finish: 'stop' };
    };
    const { response } = await turns.run({ conversation, input: 'a', tools: TOOLS });
    const [made] = response.output;
    await expect(turns.run({ conversation, input: 'b' })).rejects.toMatchObject({
      code: 'tool_output_mismatch',
      param: 'input',
    });
    const output = [
      { type: 'function_call_output', call_id: made?.type === 'function_call' && made.call_id, output: 'x' },
    ];
    await turns.run({ conversation, input: output, generate: false });
    await turns.remove(conversation, 3);
    await expect(turns.run({ conversation, input: 'b' })).rejects.toMatchObject({
      code: 'tool_output_mismatch',
      param: 'conversation',
    });
  });
});

describe('while a turn runs', () => {
  it('another one may: both add their items, and the next starts from all of them', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation();
    await turns.run({ conversation, input: 'a' });
    const [one, two] = [
      await turns.begin({ conversation, input: 'b' }),
      await turns.begin({ conversation, input: 'c' }),
    ];
    const later = await two.end();
    expect(await turns.head(conversation)).toBe(later.response.id);
    await one.end();
    expect(await turns.head(conversation)).toBeUndefined();
    const texts = ['a', 'answer 1', 'c', 'answer 3', 'b', 'answer 2'];
    expect(await turns.texts(conversation)).toEqual(texts);
    // Neither has seen the other.
    expect(turns.prompts[1]?.length).toBe(turns.prompts[2]?.length);
    const { response } = await turns.run({ conversation, input: 'd' });
    expect(await turns.texts(conversation)).toEqual([...texts, 'd', 'answer 4']);
    expect(await turns.head(conversation)).toBe(response.id);
  });

  it('an item that is added stands before its own, and one that is taken out stays out', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation('a', 'b');
    const running = await turns.begin({ conversation, input: 'c' });
    await turns.add(conversation, 'x');
    await turns.remove(conversation, 0);
    const { response } = await running.end();
    expect(response.status).toBe('completed');
    expect(await turns.texts(conversation)).toEqual(['b', 'x', 'c', 'answer 1']);
    expect(await turns.head(conversation)).toBeUndefined();
  });

  it('its conversation may be deleted: the response completes, and brings nothing back', async () => {
    const turns = new Turns();
    const conversation = await turns.conversation('a');
    const running = await turns.begin({ conversation, input: 'b' });
    await turns.delete(conversation);
    const { response } = await running.end();
    expect(response).toMatchObject({ status: 'completed', conversation: { id: conversation } });
    expect(turns.responses.find('tenant', response.id)).toBeDefined();
    expect(await turns.items(conversation)).toEqual([]);
    await expect(turns.run({ conversation, input: 'c' })).rejects.toMatchObject({
      code: 'conversation_not_found',
    });
  });
});

describe('whatever happens at once', () => {
  const MOVE = fc.record({
    kind: fc.constantFrom('run', 'begin', 'begin', 'end', 'add', 'remove', 'forget'),
    pick: fc.nat({ max: 20 }),
  });

  it('a turn reads the same from the head as from all items', () =>
    fc.assert(
      fc.asyncProperty(fc.array(MOVE, { maxLength: 10 }), async (moves) => {
        const turns = new Turns();
        turns.answer = async function* (text) {
          await Promise.resolve();
          yield { ids: thoughtful(text), finish: 'stop' };
        };
        const conversation = await turns.conversation();
        const running: { end: () => Promise<unknown> }[] = [];
        for (const [step, { kind, pick }] of moves.entries()) {
          const input = `step ${step}`;
          if (kind === 'run') await turns.run({ conversation, input });
          else if (kind === 'begin') running.push(await turns.begin({ conversation, input }));
          else if (kind === 'end') await running.splice(pick % Math.max(1, running.length), 1)[0]?.end();
          else if (kind === 'add') await turns.add(conversation, input);
          else if (kind === 'remove') await turns.remove(conversation, pick);
          else turns.responses.delete('tenant', (await turns.head(conversation)) ?? '');
        }
        const question = { conversation, input: 'what was said?' };
        const fromHead = await turns.begin(question);
        turns.responses.delete('tenant', (await turns.head(conversation)) ?? '');
        const fromStart = await turns.begin(question);
        const [one, other] = turns.prompts.slice(-2);
        expect(one).toEqual(other);
        await Promise.all([...running, fromHead, fromStart].map(({ end }) => end()));
      }),
      { numRuns: 60 },
    ));
});
