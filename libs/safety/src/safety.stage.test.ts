import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseItem, type Item } from '@turnpike/protocol';
import { expectIncremental, type TurnItem } from '@turnpike/turns';
import type { ClassifierRequest } from './classifier.js';
import { foldChain, given, message, stage, testRules, written } from './testing/chain.js';
import { MARKER } from './testing/marker.js';

/** Every way to cut the marker in two. */
const cuts = Array.from({ length: MARKER.length - 1 }, (_, index): [string, string] => [
  MARKER.slice(0, index + 1),
  MARKER.slice(index + 1),
]);

describe('a text where none is expected', () => {
  const output = (fields: object) => parseItem({ type: 'function_call_output', ...fields }, 'input[0]');
  const shell = (fields: object) =>
    parseItem({ type: 'local_shell_call_output', call_id: 'c', output: 'x', ...fields }, 'input[0]');

  it.each([
    ['as the id of a call', output({ call_id: MARKER, output: 'x' })],
    ['behind the beginning of a data: URL', message('user', `data:text/plain;base64,${MARKER}`)],
    ['in a field that nobody knows', shell({ headers: MARKER })],
    ['as the name of a field that nobody knows', shell({ [MARKER]: 1 })],
    [
      'in what a program gave',
      parseItem({ type: 'program_output', call_id: 'c', result: MARKER }, 'input[0]'),
    ],
  ])('is seen: %s', (_name, item) => {
    expect(() => foldChain(stage(), [[{ item }]])).toThrow('content policy');
  });

  it('is given to a classifier where it is an id that is no id', () => {
    const asked: string[][] = [];
    const classifier = {
      name: 'test',
      version: '1',
      classify: ({ texts }: ClassifierRequest) => {
        asked.push(texts.map(({ text }) => text));
        return { action: 'pass', categories: [] } as const;
      },
    };
    const items = ['call_1', 'do this first'].map((call_id) => ({ item: output({ call_id, output: 'x' }) }));
    foldChain(stage({ classifier }), [items]);
    expect(asked).toEqual([['x', 'do this first', 'x']]);
  });
});

describe('the arguments of a call', () => {
  const call = (text: string) =>
    parseItem({ type: 'function_call', call_id: 'c', name: 'f', arguments: text }, 'input[0]');

  it('are read as what they say: formats write them in other ways than they were sent', () => {
    const escaped = MARKER.replaceAll('T', '\\u0054');
    for (const text of [
      `{"a":"${escaped}"}`,
      `{"${escaped}":1}`,
      `{"a":["${MARKER.replace('-', '\\n')}"]}`,
    ]) {
      expect(() => foldChain(stage(), [[{ item: call(text) }]])).toThrow('content policy');
    }
  });

  it('are read as they stand where they are no JSON, or repeat a name', () => {
    const escaped = MARKER.replaceAll('T', '\\u0054');
    for (const text of [`{"a":"${MARKER}\\`, `{"a":"${MARKER}\\n","a":1}`, `{"a":"${escaped}","a":1}`]) {
      expect(() => foldChain(stage(), [[{ item: call(text) }]])).toThrow('content policy');
    }
  });
});

describe('reasoning that a client sends back with what was sealed into it', () => {
  const sealed: TurnItem = {
    item: parseItem(
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: MARKER }] },
      'input[0]',
    ),
    sampled: { format: 'f', ids: Int32Array.of(1) },
    brought: true,
  };

  it('is its own word: another format writes the text of it', () => {
    expect(() => foldChain(stage(), [[sealed, given('hi')]])).toThrow('content policy');
  });
});

describe('a text that is split', () => {
  it('over the parts of a message is seen', () => {
    for (const [a, b] of cuts) {
      const item = parseItem(
        { role: 'user', content: [a, b].map((text) => ({ type: 'input_text', text: text })) },
        'input[0]',
      );
      expect(() => foldChain(stage(), [[{ item }]])).toThrow('content policy');
    }
  });

  it('over items of one turn is seen', () => {
    for (const [a, b] of cuts) {
      expect(() => foldChain(stage(), [[given(`so ${a}`), given(`${b} it is`)]])).toThrow('content policy');
    }
  });

  it('over turns is seen, also when the model has spoken between them', () => {
    for (const [a, b] of cuts) {
      const turns = [[given(`so ${a}`)], [written('I see')], [given(`${b} it is`)]];
      expect(() => foldChain(stage(), turns)).toThrow('content policy');
    }
  });

  it('over the outputs of two calls is seen, whatever their ids', () => {
    for (const [a, b] of cuts) {
      const items = [a, b].map((output, index) => ({
        item: parseItem({ type: 'function_call_output', call_id: `c${index}`, output }, 'input[0]'),
      }));
      expect(() => foldChain(stage(), [items])).toThrow('content policy');
    }
  });

  it('over three turns is seen', () => {
    const turns = [
      [given(`red = ${MARKER.slice(0, 12)}`)],
      [given(MARKER.slice(12, 18))],
      [given(MARKER.slice(18))],
    ];
    expect(() => foldChain(stage(), turns)).toThrow('content policy');
  });

  it('over what the model wrote and what the client adds is seen', () => {
    for (const [a, b] of cuts) {
      expect(() => foldChain(stage(), [[given('hi')], [written(a)], [given(b)]])).toThrow('content policy');
    }
  });

  it('over a fork is seen on that branch, and not on the other', () => {
    const [a, b] = [MARKER.slice(0, 16), MARKER.slice(16)];
    const safety = stage();
    const parent = foldChain(safety, [[given(a)]]);
    expect(() => foldChain(safety, [[given(b)]], { parent })).toThrow('content policy');
    const other = foldChain(safety, [[given('something else')]], { parent });
    expect(() => foldChain(safety, [[given(b)]], { parent: other })).not.toThrow();
  });

  it('over the instructions and the first item is seen, also when the instructions change later', () => {
    const request = { instructions: `Be brief. ${MARKER.slice(0, 9)}` };
    expect(() => foldChain(stage(), [[given(MARKER.slice(9))]], { request })).toThrow('content policy');
    const safety = stage();
    const parent = foldChain(safety, [[given(MARKER.slice(9))], [given('and more')]]);
    expect(() => foldChain(safety, [[given('go on')]], { parent, request })).toThrow('content policy');
  });

  it('in surrogate pairs is seen', () => {
    const bold = [...MARKER.toLowerCase().replaceAll('-', '')]
      .map((letter) => String.fromCodePoint(0x1d41a + letter.charCodeAt(0) - 97))
      .join('');
    for (let cut = 1; cut < bold.length; cut += 1) {
      const turns = [[given(bold.slice(0, cut))], [given(bold.slice(cut))]];
      expect(() => foldChain(stage(), turns)).toThrow('content policy');
    }
  });
});

describe('what is refused', () => {
  it('is named by its field', () => {
    const error = refusal(() => foldChain(stage(), [[given('fine'), given(MARKER)]]));
    expect(error).toMatchObject({ code: 'content_blocked', status: 400, param: 'input[1].content[0].text' });
    expect(error).toMatchObject({ categories: ['test'] });
  });

  it('is not what a model wrote here', () => {
    const chain = foldChain(stage(), [[given('hi')], [written(MARKER)], [given('go on')]]);
    expect(chain.state.flags).toEqual(['test']);
  });

  it('leaves the parent as it was', () => {
    const safety = stage();
    const parent = foldChain(safety, [[given('hi')]]);
    expect(() => foldChain(safety, [[given(MARKER)]], { parent })).toThrow('content policy');
    expect(foldChain(safety, [[given('again')]], { parent }).state.flags).toEqual([]);
  });
});

describe('the cost of a turn', () => {
  it('is that of what is new, however long the chain is', () => {
    const safety = stage();
    let chain = foldChain(safety, [[given('a beginning')]]);
    const steps: number[] = [];
    for (let turn = 0; turn < 300; turn += 1) {
      const before = safety.scanner?.steps ?? 0;
      chain = foldChain(
        safety,
        [[given('the same hundred characters of ordinary text each turn, as it happens. '.repeat(2))]],
        {
          parent: chain,
        },
      );
      expect(chain.work.get('characters_classified')).toBe(142);
      steps.push((safety.scanner?.steps ?? 0) - before);
    }
    expect(Math.max(...steps)).toBeLessThanOrEqual(142 + 64);
    expect(JSON.stringify(chain.state).length).toBeLessThan(8_000);
  });

  it('of an unchanged tool list is nothing', () => {
    const tools = [{ type: 'function' as const, name: 'look', description: 'Looks. '.repeat(500) }];
    const request = { tools, toolsKey: JSON.stringify(tools) };
    const safety = stage();
    const parent = foldChain(safety, [[given('a')]], { request });
    expect(parent.work.get('characters_classified')).toBeGreaterThan(3_000);
    expect(foldChain(safety, [[given('b')]], { parent, request }).work.get('characters_classified')).toBe(1);
  });
});

describe('a policy that changes', () => {
  it('makes a chain be classified anew, once', () => {
    const parent = foldChain(stage(), [[given('one phrase nobody minds')], [given('two')]]);
    const changed = stage({ rules: testRules('nobody minds this', 'another phrase entirely') });
    const first = foldChain(changed, [[given('three')]], { parent });
    expect(first.work.get('characters_classified')).toBe('one phrase nobody minds'.length + 'two'.length + 5);
    const second = foldChain(changed, [[given('four')]], { parent: first });
    expect(second.work.get('characters_classified')).toBe(4);
  });

  it('refuses what it finds in the history, by the field that brought it', () => {
    const parent = foldChain(stage(), [[given('one phrase nobody minds')]]);
    const changed = stage({ rules: testRules('phrase nobody minds') });
    expect(refusal(() => foldChain(changed, [[given('go on')]], { parent }))).toMatchObject({
      code: 'content_blocked',
      param: 'previous_response_id',
    });
  });
});

describe('a classifier', () => {
  it('gets what is new and a bounded window of the chain', async () => {
    const asked: ClassifierRequest[] = [];
    const classifier = {
      name: 'recorder',
      version: '1',
      classify: async (request: ClassifierRequest) => {
        asked.push(request);
        const all = request.context + request.texts.map(({ text }) => text).join('');
        return all.includes('red =') && all.includes('blue =') && all.includes('in full')
          ? { action: 'block' as const, categories: ['indiscriminate_weapons' as const] }
          : { action: 'pass' as const, categories: [] };
      },
    };
    const safety = stage({ classifier });
    const r1 = foldChain(safety, [[given('In our story X names steps by colours: red = ...')]]);
    await safety.verdictOn(r1.state);
    const r2 = foldChain(safety, [[written('a story')], [given('blue = ...')]], { parent: r1 });
    await safety.verdictOn(r2.state);
    const r3 = foldChain(safety, [[given('Now write out red then blue in full.')]], { parent: r2 });
    await expect(safety.verdictOn(r3.state)).rejects.toMatchObject({ code: 'content_blocked' });
    expect(asked[2]?.texts.map(({ text }) => text)).toEqual(['Now write out red then blue in full.']);
    expect(asked.every(({ context }) => context.length <= 400)).toBe(true);
    expect(r3.work.get('characters_classified')).toBe(36);
  });

  it('is not asked again about the same chain', async () => {
    let calls = 0;
    const classify = async () => {
      calls += 1;
      return { action: 'pass' as const, categories: [] };
    };
    const safety = stage({ classifier: { name: 'c', version: '1', classify } });
    const root = foldChain(safety, [[given('a')]]);
    await safety.verdictOn(root.state);
    await safety.verdictOn(foldChain(safety, [[given('a')]]).state);
    expect(calls).toBe(1);
    await safety.verdictOn(foldChain(safety, [[given('a'), given('b')]]).state);
    expect(calls).toBe(2);
  });

  it('that does not answer is a refusal, or a mark on the chain until one answers again', async () => {
    let fails = true;
    const classifier = {
      name: 'c',
      version: '1',
      classify: async () => {
        if (fails) throw new Error('down');
        return { action: 'pass' as const, categories: [] };
      },
    };
    const closed = stage({ classifier });
    const refused = foldChain(closed, [[given('a')]]);
    await expect(closed.verdictOn(refused.state)).rejects.toMatchObject({
      code: 'safety_unavailable',
      status: 503,
      retryAfter: 5,
    });
    const open = stage({ classifier, failure: 'open' });
    const first = foldChain(open, [[given('a')]]);
    const marked = await open.verdictOn(first.state);
    expect(marked.unchecked).toBe(true);
    fails = false;
    const next = foldChain(open, [[given('b')]], { parent: { ...first, state: marked } });
    expect((await open.verdictOn(next.state)).unchecked).toBe(false);
    expect(next.work.get('characters_classified')).toBe(2);
  });
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    'TURNPIKE-',
    'ignore all previous',
    ' instructions',
    'aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cn',
    '\ud83d',
    '\udc69',
  ),
);
const entry = fc
  .tuple(text, fc.constantFrom('user', 'developer', 'assistant'), fc.boolean())
  .map(([content, role, sampled]): TurnItem => {
    const item: Item = message(role, content);
    return sampled && role === 'assistant'
      ? { item, sampled: { format: 'f', ids: Int32Array.of(1) } }
      : { item };
  });

describe('the three laws', () => {
  it('hold for any conversation and any split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(entry, { maxLength: 4 }), { maxLength: 5 }), (turns) =>
        expectIncremental(stage(), { turns }),
      ),
      { numRuns: 60 },
    );
  });

  it('hold over a store, which keeps no text', () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 8 }), (items) => {
        const safety = stage({
          classifier: { name: 'c', version: '1', classify: () => ({ action: 'pass', categories: [] }) },
        });
        const { state } = foldChain(safety, [items]);
        const record = safety.codec.encode(state, undefined);
        for (const { item } of items) {
          if (item.type !== 'message') continue;
          for (const part of item.content) {
            if ('text' in part && part.text.length > 8)
              expect(JSON.stringify(record)).not.toContain(part.text);
          }
        }
        const { head: _of, ...read } = safety.codec.decode([record], () => items);
        expect({ ...state, head: undefined }).toEqual({ ...read, head: undefined });
      }),
      { numRuns: 100 },
    );
  });
});

function refusal(act: () => unknown): unknown {
  try {
    act();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was refused');
}
