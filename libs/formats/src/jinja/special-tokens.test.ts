import { afterAll, describe, expect, it } from '@jest/globals';
import { byteLevelVocabulary, ggufHead, vocabularyFolder } from '../tokenizer/test-vocabulary.js';
import { tokenizerFromFile } from '../tokenizer/vocabulary-file.js';
import { vocabularyWith, written } from '../testing/vocabulary.js';
import { jinjaFormat } from './jinja-format.js';
import { specialTokensIn, specialTokensNamedIn, specialTokensOf } from './special-tokens.js';

const folder = vocabularyFolder();
afterAll(() => folder.remove());

const tokenizer = vocabularyWith(['<s>', '<u>', '<a>', '</s>']);
const TEMPLATE =
  "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}{% else %}" +
  '<a>{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}';

describe('special tokens that a template writes by name', () => {
  it('are in its prompts: the first of them, and the end of answers', () => {
    const specialTokens = { bos_token: '<s>', eos_token: '</s>' };
    const format = jinjaFormat({ template: TEMPLATE, tokenizer, specialTokens });
    expect(written(format.renderHead({ tools: [] }), tokenizer)).toBe('<s>');
    expect(format.renderHead({ tools: [] })).toEqual([tokenizer.controlId('<s>')]);
    expect(format.stopIds).toEqual([tokenizer.controlId('</s>')]);
    // Another prompt is another format: what is stored was written with this one.
    const other = jinjaFormat({ template: TEMPLATE, tokenizer, specialTokens: { eos_token: '</s>' } });
    expect(other.name).not.toBe(format.name);
  });

  it('are seen in its text', () => {
    expect(specialTokensNamedIn(TEMPLATE)).toEqual(['bos_token', 'eos_token']);
    expect(specialTokensNamedIn('{{ messages }}<s>{{ my_bos_tokens }}')).toEqual([]);
  });

  it('are read from the tokenizer_config.json beside a tokenizer.json', () => {
    const path = folder.write('m/tokenizer.json', '{}');
    expect(specialTokensOf(path, tokenizer)).toBeUndefined();
    const fields = {
      bos_token: { content: '<s>', lstrip: false },
      eos_token: '</s>',
      pad_token: null,
      add_bos_token: true,
    };
    const config = folder.write('m/tokenizer_config.json', JSON.stringify(fields));
    expect(specialTokensOf(path, tokenizer)).toEqual({ bos_token: '<s>', eos_token: '</s>' });
    expect(specialTokensIn(config)).toEqual({ bos_token: '<s>', eos_token: '</s>' });
    folder.write('m/tokenizer_config.json', '[');
    expect(() => specialTokensIn(config)).toThrow(/tokenizer_config\.json/);
  });

  it('are read from a GGUF file', () => {
    const { tokens, merges } = byteLevelVocabulary();
    const path = folder.write(
      'm.gguf',
      ggufHead({
        'tokenizer.ggml.model': 'gpt2',
        'tokenizer.ggml.pre': 'smollm',
        'tokenizer.ggml.tokens': [...tokens, '<s>', '</s>'],
        'tokenizer.ggml.token_type': [...tokens.map(() => 1), 3, 3],
        'tokenizer.ggml.merges': merges.map((pair) => pair.join(' ')),
        'tokenizer.ggml.bos_token_id': tokens.length,
        'tokenizer.ggml.eos_token_id': tokens.length + 1,
      }),
    );
    expect(specialTokensOf(path, tokenizerFromFile(path))).toEqual({ bos_token: '<s>', eos_token: '</s>' });
  });
});
