import { describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import fc from 'fast-check';
import { readMessages } from '../../testing/client.js';
import { PromptBuilder, WEATHER_TOOL } from '../../testing/conversation.js';
import { outputEnd, sampledRange } from '../generation/output-end.js';
import { SimulatedModel } from './simulated-model.js';

const tokenizer = o200kHarmony();
const { start, channel, constrain, message, end, call, return: stop } = HARMONY;

/** What a fresh model samples after a prompt. */
function sample(prompt: readonly number[], script = '', limit = 5000) {
  const model = new SimulatedModel(tokenizer, script);
  const ids = Int32Array.from(prompt);
  const output = model.respond(ids, model.reader.scan(ids, [], 0));
  const { tokens } = outputEnd(output, [], limit);
  const sampled = [...sampledRange(output, 0, tokens)];
  return { output, sampled, messages: readMessages(prompt, sampled), text: tokenizer.decode(sampled) };
}

const ask = (text: string, effort = 'low') => new PromptBuilder({ effort }).user(text).generation();
const withTools = (text: string, ...tools: string[]) =>
  new PromptBuilder({ effort: 'low', tools: tools.length > 0 ? tools : [WEATHER_TOOL] }).user(text);
const SHELL = 'type shell = (_: {\ncommand: string[],\nworkdir?: string,\n}) => any;';
const PATCH = 'type apply_patch = (_: string) => any;';

describe('answers', () => {
  it('quotes what the user said, and counts what the prompt holds', () => {
    const prompt = new PromptBuilder({ effort: 'low' }).user('one').user(`${'🫠'.repeat(100)}`).generation();
    expect(sample(prompt).text).toBe(
      `<|channel|>final<|message|>You said: "${'🫠'.repeat(80)}"…. (message 2, 0 tool outputs)<|return|>`,
    );
  });

  it('quotes the last tool output to the character', () => {
    const said = '가🫡é\n"'.repeat(60);
    const prompt = withTools('Weather?').output('get_weather', said).generation();
    const quoted = Array.from(said).slice(0, 200).join('');
    expect(sample(prompt).text).toContain(`The tool said: "${quoted}"…. You said: "Weather?". (message 1, 1 tool output)`);
    const short = withTools('Weather?').output('get_weather', 'Sunny').generation();
    expect(sample(short).text).toContain('The tool said: "Sunny". You');
  });

  it('thinks as much as the effort says', () => {
    const thoughts = (effort?: string) => {
      const prompt = new PromptBuilder(effort === undefined ? {} : { effort }).user('Hi').generation();
      const [first] = sample(prompt).messages;
      return first?.channel === 'analysis' ? tokenizer.encode(first.content).length : 0;
    };
    expect(['none', 'low', undefined, 'medium', 'high'].map(thoughts)).toEqual([0, 0, 24, 24, 96]);
  });

  it('says something without a user message too', () => {
    expect(sample([start]).text).toContain('You said: "". (message 0, 0 tool outputs)');
    expect(sample([1, 2, 3]).text).toContain('<|start|>assistant<|channel|>final');
  });
});

describe('calls', () => {
  it('calls the first function tool once, in the form in which history is rendered, and then answers', () => {
    const conversation = withTools('Paris?');
    const prompt = conversation.generation();
    const { sampled, text } = sample(prompt);
    expect(text).toBe(
      ' to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{"city":"Paris?","days":1}<|call|>',
    );
    const next = [...prompt, ...sampled, ...new PromptBuilder().output('get_weather', 'Rain').generation()];
    expect(sample(next).text).toContain('final<|message|>The tool said: "Rain"');
  });

  it('begins anew with a new user message', () => {
    const prompt = withTools('Paris?').output('get_weather', 'Rain').user('London?').generation();
    expect(sample(prompt).text).toContain('{"city":"London?","days":1}<|call|>');
  });

  it('makes as many as the marker says, several at once if it says so', () => {
    const conversation = withTools('Paris? [sim calls=3 parallel=2]');
    const first = sample(conversation.generation());
    expect(first.messages.map(({ recipient }) => recipient)).toEqual(['functions.get_weather', 'functions.get_weather']);
    expect(first.sampled.filter((id) => id === end)).toHaveLength(1);
    expect(first.sampled.at(-1)).toBe(call);
    const outputs = (count: number) => {
      const later = withTools('Paris? [sim calls=3 parallel=2]');
      for (let i = 0; i < count; i++) later.output('get_weather', 'x');
      return sample(later.generation()).messages;
    };
    expect(outputs(2)).toHaveLength(1);
    expect(outputs(2)[0]?.recipient).toBe('functions.get_weather');
    expect(outputs(3)[0]?.channel).toBe('final');
    expect(sample(withTools('Paris? [sim calls=0]').generation()).messages[0]?.channel).toBe('final');
  });

  it('prefers the tool that the user names', () => {
    const tools = [WEATHER_TOOL, 'type time = (_: {\nzone: string,\n}) => any;'];
    const recipient = (text: string) => sample(withTools(text, ...tools).generation()).messages[0]?.recipient;
    expect(recipient('use the time tool')).toBe('functions.time');
    expect(recipient('sometimes')).toBe('functions.get_weather');
    expect(recipient('anything [sim tool=time]')).toBe('functions.time');
  });

  it('only ever echoes through a shell', () => {
    const evil = sample(withTools('rm -rf / [sim calls=2]', SHELL).output('shell', 'x').generation());
    expect(evil.text).toContain('<|message|>{"command":["echo","turnpike-2"]}<|call|>');
  });

  it('calls a custom tool with free text if it is the only one or asked for, a patch only if asked for', () => {
    const note = 'type note = (_: string) => any;';
    const called = (text: string, ...tools: string[]) => sample(withTools(text, ...tools).generation()).text;
    expect(called('Milk', note)).toBe(' to=functions.note<|channel|>commentary<|message|>turnpike-1: Milk<|call|>');
    expect(called('Milk, note', note, WEATHER_TOOL)).toContain('functions.get_weather');
    expect(called('apply_patch now', PATCH)).toContain('final');
    expect(called('apply_patch now', SHELL, PATCH)).toContain('functions.shell');
    expect(called('now [sim custom=apply_patch]', SHELL, PATCH)).toContain('to=functions.apply_patch');
  });
});

describe('markers', () => {
  const marked = (marker: string, text = 'Hi') => sample(ask(`${text} [sim ${marker}]`));

  it('take defaults from the script, and win over it', () => {
    expect(sample(ask('Hi'), 'reason=7').messages[0]?.channel).toBe('analysis');
    expect(sample(ask('Hi [sim reason=0]'), 'reason=7').messages[0]?.channel).toBe('final');
  });

  it('set the length of the answer and of the analysis', () => {
    const { messages } = marked('tokens=200 reason=50');
    expect(messages.map(({ content }) => tokenizer.encode(content).length)).toEqual([50, 200]);
    expect(messages[1]?.content).toContain('You said: "Hi".');
  });

  it('put a preamble before a call', () => {
    const { messages } = sample(withTools('Paris? [sim commentary=1]').generation());
    expect(messages.map(({ channel: name, recipient }) => [name, recipient])).toEqual([
      ['commentary', undefined],
      ['commentary', 'functions.get_weather'],
    ]);
  });

  it('name the recipient in the channel part', () => {
    expect(sample(withTools('Paris? [sim call-form=channel]').generation()).text).toMatch(
      /^<\|channel\|>commentary to=functions.get_weather <\|constrain\|>json<\|message\|>\{/,
    );
  });

  it('answer with characters that tokens split', () => {
    const { messages, sampled } = marked('emoji=1');
    expect(messages[0]?.content).toContain('🫠');
    expect(sampled.some((id) => tokenizer.decode([id]).includes('\uFFFD'))).toBe(true);
  });

  it('go on for ever, or say nothing', () => {
    const endless = sample(withTools('Hi [sim limit=1]').generation(), '', 1000);
    expect(endless.sampled).toHaveLength(1000);
    expect(endless.messages[0]?.channel).toBe('final');
    expect(marked('empty=1 reason=9').text).toBe('<|channel|>final<|message|><|return|>');
  });

  it('break Harmony in the ways that models do', () => {
    const broken = (kind: string) => sample(withTools(`Paris? [sim broken=${kind} reason=3]`).generation()).sampled;
    const header = tokenizer.decode(broken('header'));
    expect(header).toMatch(/<\|end\|>commentary to=functions\.get_weather <\|constrain\|>json<\|message\|>\{.*<\|call\|>$/);
    const stray = tokenizer.decode(broken('stray'));
    expect(stray).toMatch(/<\|end\|><\|end\|><\|start\|>assistant to=.*<\|end\|><\|call\|>$/);
    expect(tokenizer.decode(broken('nomessage'))).toMatch(/<\|constrain\|>json \{.*<\|call\|>$/);
    expect(broken('noend').at(-1)).not.toBe(call);
    const open = sample(ask('Hi [sim broken=noend]'));
    expect(outputEnd(open.output, [], 5000)).toMatchObject({ finishReason: 'stop', stopReason: null });
    expect(marked('broken=stray').sampled.slice(-2)).toEqual([end, stop]);
  });

  it('tell of failures', () => {
    expect(marked('die=3').output.failure).toEqual({ kind: 'die', after: 3 });
    expect(marked('error=4').output.failure).toEqual({ kind: 'error', after: 4 });
    expect(marked('stall=250').output.stall).toEqual({ after: 5, ms: 250 });
    expect(marked('status=429').output.status).toBe(429);
  });

  it('show typos in the answer', () => {
    expect(marked('cals=2').messages[0]?.content).toBe('unknown sim key: cals');
    expect(marked('tool=nope').messages[0]?.content).toBe('no such tool: nope');
    expect(() => new SimulatedModel(tokenizer, 'cals=2')).toThrow('unknown sim key: cals');
  });
});

describe('response formats', () => {
  const schema = {
    type: 'object',
    properties: { said: { type: 'string' }, count: { type: 'integer', minimum: 3 } },
    required: ['said', 'count'],
  };

  it('makes the final message JSON of the schema, after the calls', () => {
    const plain = new PromptBuilder({ effort: 'low', schema }).user('Hello').generation();
    expect(JSON.parse(sample(plain).messages[0]?.content ?? '')).toEqual({ said: 'Hello', count: 3 });
    const conversation = new PromptBuilder({ effort: 'low', schema, tools: [WEATHER_TOOL] }).user('Hello');
    expect(sample(conversation.generation()).messages[0]?.recipient).toBe('functions.get_weather');
    const done = new PromptBuilder({ effort: 'low', schema, tools: [WEATHER_TOOL] }).user('Hello').output('get_weather', 'Hail');
    expect(JSON.parse(sample(done.generation()).messages[0]?.content ?? '')).toEqual({ said: 'Hail', count: 3 });
  });
});

describe('prompts that end inside a header', () => {
  const tools = [SHELL, WEATHER_TOOL];
  const ARGUMENTS = '{"city":"Paris?","days":1}<|call|>';
  const continued = (...begun: (number | string)[]) => sample(withTools('Paris?', ...tools).generation(...begun)).text;

  it('are continued with the arguments of the forced call', () => {
    expect(continued(' to=functions.get_weather', channel, 'commentary ', constrain, 'json', message)).toBe(ARGUMENTS);
    expect(continued(' to=functions.get_weather', channel, 'commentary ', constrain, 'json')).toBe(`<|message|>${ARGUMENTS}`);
    expect(continued(' to=functions.get_weather')).toBe(`<|channel|>commentary <|constrain|>json<|message|>${ARGUMENTS}`);
    expect(continued(channel, 'commentary to=functions.get_weather')).toBe(` <|constrain|>json<|message|>${ARGUMENTS}`);
    expect(continued(' to=functions.get_')).toBe(`weather<|channel|>commentary <|constrain|>json<|message|>${ARGUMENTS}`);
    expect(continued(' to=functions.get_weather', channel, 'commentary', message)).toBe(ARGUMENTS);
    expect(continued(' to=functions.get_weather', channel, 'commentary json', message, '{"city":')).toBe(
      '"Paris?","days":1}<|call|>',
    );
    expect(continued(' to=functions.')).toMatch(/^shell<\|channel\|>/);
    expect(continued(' to=functions.unknown', channel, 'commentary', message)).toBe('{}<|call|>');
  });

  it('call again when the loop is done but a call is forced', () => {
    const prompt = withTools('Paris?').output('get_weather', 'x').generation(' to=functions.get_weather');
    expect(sample(prompt).text).toContain(ARGUMENTS);
  });

  it('are continued in the channel that is open', () => {
    expect(continued(channel, 'final', message)).toMatch(/^You said: "Paris\?"\..*<\|return\|>$/);
    expect(continued(channel)).toMatch(/^final|^commentary to=functions.shell/);
    expect(continued(channel, 'analysis', message)).toMatch(/^Thinking\.<\|end\|><\|start\|>assistant to=functions\.shell/);
    expect(continued(channel, 'commentary', message)).toMatch(/^I will call shell\.<\|end\|><\|start\|>assistant to=/);
  });

  it('end a message of somebody else first', () => {
    const prompt = [...ask('Hi').slice(0, -1), ...tokenizer.encode('user'), message, ...tokenizer.encode('And')];
    expect(sample(prompt).text).toMatch(/^<\|end\|><\|start\|>assistant<\|channel\|>final/);
  });
});

describe('ids', () => {
  const markers = fc.constantFrom('', 'tokens=90', 'reason=40', 'emoji=1', 'commentary=1', 'parallel=2', 'call-form=channel');
  const prompts = fc
    .tuple(fc.string({ unit: 'binary' }), markers, fc.boolean(), fc.array(fc.string(), { maxLength: 2 }))
    .map(([text, marker, tools, outputs]) => {
      const builder = new PromptBuilder({ tools: tools ? [WEATHER_TOOL] : [] }).user(`${text} [sim ${marker}]`);
      for (const output of outputs) builder.output('get_weather', output);
      return builder.generation();
    });

  it('are the same for the same prompt', () => {
    fc.assert(
      fc.property(prompts, (prompt) => {
        expect(sample(prompt).sampled).toEqual(sample(prompt).sampled);
      }),
      { numRuns: 20 },
    );
  });

  it("are the tokenizer's own encoding of what each message says", () => {
    fc.assert(
      fc.property(prompts, (prompt) => {
        const { sampled } = sample(prompt);
        const again: number[] = [];
        let run: number[] = [];
        const flush = () => {
          again.push(...tokenizer.encode(tokenizer.decode(run)));
          run = [];
        };
        for (const id of sampled) {
          if (id < HARMONY.startOfText) run.push(id);
          else {
            flush();
            again.push(id);
          }
        }
        flush();
        expect(again).toEqual(sampled);
      }),
      { numRuns: 60 },
    );
  });

  it('do not depend on whether the prompt was read at once or bit by bit', () => {
    fc.assert(
      fc.property(prompts, fc.nat(), (prompt, seed) => {
        const model = new SimulatedModel(tokenizer);
        const cut = seed % prompt.length;
        const earlier = model.reader.scan(Int32Array.from(prompt.slice(0, cut)), [], 0);
        const ids = Int32Array.from(prompt);
        const messages = model.reader.scan(ids, earlier, cut);
        expect(messages).toEqual(model.reader.scan(ids, [], 0));
        expect(model.respond(ids, messages).ids).toEqual(sample(prompt).output.ids);
      }),
      { numRuns: 30 },
    );
  });
});
