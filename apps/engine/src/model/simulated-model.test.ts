import { describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import { PromptBuilder, WEATHER_TOOL } from '../../testing/conversation.js';
import { ask, PATCH_TOOL, sample, SHELL_TOOL, withTools } from '../../testing/sample.js';
import { outputEnd } from '../generation/output-end.js';
import { SimulatedModel } from './simulated-model.js';

const tokenizer = o200kHarmony();
const { start, end, call, return: stop } = HARMONY;

describe('answers', () => {
  it('quotes what the user said, and counts what the prompt holds', () => {
    const prompt = new PromptBuilder({ effort: 'low' })
      .user('one')
      .user(`${'🫠'.repeat(100)}`)
      .generation();
    expect(sample(prompt).text).toBe(
      `<|channel|>final<|message|>You said: "${'🫠'.repeat(80)}"…. (message 2, 0 tool outputs)<|return|>`,
    );
  });

  it('quotes the last tool output to the character', () => {
    const said = '가🫡é\n"'.repeat(60);
    const prompt = withTools('Weather?').output('get_weather', said).generation();
    const quoted = Array.from(said).slice(0, 200).join('');
    expect(sample(prompt).text).toContain(
      `The tool said: "${quoted}"…. You said: "Weather?". (message 1, 1 tool output)`,
    );
    const short = withTools('Weather?').output('get_weather', 'Sunny').generation();
    expect(sample(short).text).toContain('The tool said: "Sunny". You');
  });

  it('thinks as much as the effort says', () => {
    const thoughts = (effort?: string) => {
      const prompt = new PromptBuilder(effort === undefined ? {} : { effort }).user('Hi').generation();
      const [first] = sample(prompt).messages;
      return first?.channel === 'analysis' ? tokenizer.encode(first.content).length : 0;
    };
    expect(['low', undefined, 'medium', 'high'].map(thoughts)).toEqual([0, 24, 24, 96]);
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
    expect(first.messages.map(({ recipient }) => recipient)).toEqual([
      'functions.get_weather',
      'functions.get_weather',
    ]);
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
    const evil = sample(withTools('rm -rf / [sim calls=2]', SHELL_TOOL).output('shell', 'x').generation());
    expect(evil.text).toContain('<|message|>{"command":["echo","turnpike-2"]}<|call|>');
  });

  it('calls a custom tool with free text if it is the only one or asked for, a patch only if asked for', () => {
    const note = 'type note = (_: string) => any;';
    const called = (text: string, ...tools: string[]) => sample(withTools(text, ...tools).generation()).text;
    expect(called('Milk', note)).toBe(
      ' to=functions.note<|channel|>commentary<|message|>turnpike-1: Milk<|call|>',
    );
    expect(called('Milk, note', note, WEATHER_TOOL)).toContain('functions.get_weather');
    expect(called('apply_patch now', PATCH_TOOL)).toContain('final');
    expect(called('apply_patch now', SHELL_TOOL, PATCH_TOOL)).toContain('functions.shell');
    expect(called('now [sim custom=apply_patch]', SHELL_TOOL, PATCH_TOOL)).toContain(
      'to=functions.apply_patch',
    );
  });
});

describe('markers', () => {
  const marked = (marker: string, text = 'Hi') => sample(ask(`${text} [sim ${marker}]`));

  it('calls a tool that nobody offers', () => {
    const [only] = sample(ask('Hi [sim unasked=nope]')).messages;
    expect(only).toMatchObject({ recipient: 'functions.nope', content: '{}' });
  });

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
    const broken = (kind: string) =>
      sample(withTools(`Paris? [sim broken=${kind} reason=3]`).generation()).sampled;
    const header = tokenizer.decode(broken('header'));
    expect(header).toMatch(
      /<\|end\|>commentary to=functions\.get_weather <\|constrain\|>json<\|message\|>\{.*<\|call\|>$/,
    );
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

  it('breaks off inside the JSON when it is told to', () => {
    const prompt = new PromptBuilder({ effort: 'low', schema }).user('Hello [sim badjson=1]').generation();
    const [answer] = sample(prompt).messages;
    expect(answer?.channel).toBe('final');
    expect(() => JSON.parse(answer?.content ?? '') as unknown).toThrow(SyntaxError);
  });

  it('makes the final message JSON of the schema, after the calls', () => {
    const plain = new PromptBuilder({ effort: 'low', schema }).user('Hello').generation();
    expect(JSON.parse(sample(plain).messages[0]?.content ?? '')).toEqual({ said: 'Hello', count: 3 });
    const conversation = new PromptBuilder({ effort: 'low', schema, tools: [WEATHER_TOOL] }).user('Hello');
    expect(sample(conversation.generation()).messages[0]?.recipient).toBe('functions.get_weather');
    const done = new PromptBuilder({ effort: 'low', schema, tools: [WEATHER_TOOL] })
      .user('Hello')
      .output('get_weather', 'Hail');
    expect(JSON.parse(sample(done.generation()).messages[0]?.content ?? '')).toEqual({
      said: 'Hail',
      count: 3,
    });
  });
});
