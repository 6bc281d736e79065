import { describe, expect, it } from '@jest/globals';
import { DIALOG_FAMILIES, type DialogFamily } from './families.js';
import { promptPieces } from './testing/chat.js';
import { call, output, user } from './testing/conversations.js';
import { formatOf } from './testing/families.js';
import { written } from './testing/vocabulary.js';

it.each(DIALOG_FAMILIES)('%s writes numbers as they were sent, and in their order', (family) => {
  const format = formatOf(family);
  const args = '{"2":1.0,"1":12345678901234567890,"x":1e-7}';
  const pieces = promptPieces(format, { tools: [] }, [
    user('look'),
    call('a', 'look', args),
    output('a', ''),
  ]);
  const prompt = written(pieces, format.tokenizer);
  const places = ['1.0', '12345678901234567890', '1e-07'].map((number) => prompt.indexOf(number));
  expect(places).not.toContain(-1);
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

it.each(DIALOG_FAMILIES)('%s takes any text for the id of a call', (family) => {
  const format = formatOf(family);
  for (const id of ['constructor', '__proto__', 'toString']) {
    const unknown = written(
      promptPieces(format, { tools: [] }, [user('look'), output(id, 'out')]),
      format.tokenizer,
    );
    expect(unknown).not.toMatch(/native code|object Object/);
    const [called, plain] = [id, 'c'].map((each) =>
      written(
        promptPieces(format, { tools: [] }, [user('look'), call(each, 'f', '{}'), output(each, 'out')]),
        format.tokenizer,
      ),
    );
    expect(called).toBe(plain);
  }
});

describe('what models are told where a request has no instructions', () => {
  const system = (family: DialogFamily, instructions?: string) => {
    const format = formatOf(family);
    return written(format.renderHead({ tools: [], instructions }), format.tokenizer);
  };

  it('is what the template of the model says, or nothing', () => {
    expect(system('smollm2')).toBe(
      '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n',
    );
    expect(system('smollm2', 'Be brief.')).toBe('<|im_start|>system\nBe brief.<|im_end|>\n');
    expect(system('chatml')).toBe('');
    expect(system('kimi-k2')).toBe(
      '<|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.<|im_end|>\n',
    );
  });
});

describe('an opening', () => {
  it.each<[DialogFamily, string]>([
    ['qwen3', '<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n{"name": "look", "arguments": '],
    ['qwen3-coder', '<|im_start|>assistant\n<tool_call>\n<function=look>\n'],
    ['llama3', '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "look", "parameters": '],
    ['mistral', '[TOOL_CALLS]look[ARGS]'],
    ['deepseek-v3.1', '<｜Assistant｜></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>'],
    ['glm-4.7', '<|assistant|></think><tool_call>look'],
  ])('of %s makes it call one tool', (family, expected) => {
    const format = formatOf(family);
    const target = { type: 'function', name: 'look' } as const;
    const ids = format.generationPrompt(undefined, undefined, { kind: 'call', targets: [target] });
    expect(format.tokenizer.decode(ids)).toBe(expected);
  });
});
