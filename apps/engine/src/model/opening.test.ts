import { describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import { WEATHER_TOOL } from '../../testing/conversation.js';
import { ask, sample, SHELL_TOOL, withTools } from '../../testing/sample.js';

const tokenizer = o200kHarmony();
const { channel, constrain, message } = HARMONY;

describe('prompts that end inside a header', () => {
  const tools = [SHELL_TOOL, WEATHER_TOOL];
  const ARGUMENTS = '{"city":"Paris?","days":1}<|call|>';
  const continued = (...begun: (number | string)[]) =>
    sample(withTools('Paris?', ...tools).generation(...begun)).text;

  it('are continued with the arguments of the forced call', () => {
    expect(continued(' to=functions.get_weather', channel, 'commentary ', constrain, 'json', message)).toBe(
      ARGUMENTS,
    );
    expect(continued(' to=functions.get_weather', channel, 'commentary ', constrain, 'json')).toBe(
      `<|message|>${ARGUMENTS}`,
    );
    expect(continued(' to=functions.get_weather')).toBe(
      `<|channel|>commentary <|constrain|>json<|message|>${ARGUMENTS}`,
    );
    expect(continued(channel, 'commentary to=functions.get_weather')).toBe(
      ` <|constrain|>json<|message|>${ARGUMENTS}`,
    );
    expect(continued(' to=functions.get_')).toBe(
      `weather<|channel|>commentary <|constrain|>json<|message|>${ARGUMENTS}`,
    );
    expect(continued(' to=functions.get_weather', channel, 'commentary', message)).toBe(ARGUMENTS);
    expect(continued(' to=functions.get_weather', channel, 'commentary json', message, '{"city":')).toBe(
      '"Paris?","days":1}<|call|>',
    );
    expect(continued(' to=functions')).toMatch(/^\.shell<\|channel\|>/);
    expect(continued(' to')).toMatch(/^=functions\.shell<\|channel\|>/);
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
    expect(continued(channel, 'analysis', message)).toMatch(
      /^Thinking\.<\|end\|><\|start\|>assistant to=functions\.shell/,
    );
    expect(continued(channel, 'commentary', message)).toMatch(
      /^I will call shell\.<\|end\|><\|start\|>assistant to=/,
    );
  });

  it('end a message of somebody else first', () => {
    const prompt = [
      ...ask('Hi').slice(0, -1),
      ...tokenizer.encode('user'),
      message,
      ...tokenizer.encode('And'),
    ];
    expect(sample(prompt).text).toMatch(/^<\|end\|><\|start\|>assistant<\|channel\|>final/);
  });
});
