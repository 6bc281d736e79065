import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from './load.js';
import { modelFormat } from './model-format.js';

const TEMPLATE =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}' +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

let folder: string;
const file = (name: string) => join(folder, name);

/** A vocabulary of bytes and these control tokens. */
function writeVocabulary(name: string, controls: readonly string[]): void {
  const bytes = [...Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)), 'Ġ', 'Ċ'];
  const vocab = Object.fromEntries(bytes.map((byte, id) => [byte, id]));
  const added_tokens = controls.map((content, at) => ({ id: bytes.length + at, content, special: true }));
  const pre_tokenizer = { type: 'ByteLevel', add_prefix_space: false, use_regex: true };
  const model = { type: 'BPE', vocab, merges: [] };
  writeFileSync(
    file(name),
    JSON.stringify({ added_tokens, normalizer: null, pre_tokenizer, decoder: { type: 'ByteLevel' }, model }),
  );
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-formats-'));
  writeVocabulary('chatml.json', ['<|im_start|>', '<|im_end|>']);
  writeFileSync(file('good.jinja'), TEMPLATE);
  writeFileSync(file('tokenizer_config.json'), JSON.stringify({ chat_template: TEMPLATE }));
  writeFileSync(file('named.jinja'), `{{ bos_token }}${TEMPLATE}`);
  for (const name of ['bare', 'whole']) {
    mkdirSync(file(name));
    writeVocabulary(`${name}/tokenizer.json`, ['<|im_start|>', '<|im_end|>', '<s>']);
  }
  const special = { bos_token: '<s>', chat_template: `{{ bos_token }}${TEMPLATE}` };
  writeFileSync(file('whole/tokenizer_config.json'), JSON.stringify(special));
  writeFileSync(file('other.json'), '{"chat_template":[]}');
  writeFileSync(file('broken.jinja'), '{% for %}');
  writeFileSync(file('forgetful.jinja'), '{{ messages[-1].content }}<|im_end|>');
});
afterAll(() => rmSync(folder, { recursive: true }));

function faultsOf(model: string): string {
  const config = file('turnpike.yaml');
  writeFileSync(
    config,
    `engines: { e: { url: 'http://a', images: content_parts } }\nmodels: { m: { engine: e, ${model} } }`,
  );
  try {
    loadConfig(config, {});
    return '';
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.message;
    throw thrown;
  }
}

describe('the format of a model', () => {
  it('is made of its family and its files, once', () => {
    const config = { format: 'chatml', tokenizer: file('chatml.json') } as const;
    const format = modelFormat(config);
    expect(format.name).toMatch(/^chatml\//);
    expect(format.tokenizer.decode(format.generationPrompt(undefined))).toBe('<|im_start|>assistant\n');
    expect(modelFormat({ ...config })).toBe(format);
    const byTemplate = modelFormat({ ...config, format: 'jinja', template: file('good.jinja') });
    const inConfig = modelFormat({ ...config, format: 'jinja', template: file('tokenizer_config.json') });
    expect(inConfig.name).toBe(byTemplate.name);
    expect(byTemplate.name).toMatch(/^jinja-[0-9a-f]{16}\//);
    expect(byTemplate.generationPrompt(undefined)).toEqual(format.generationPrompt(undefined));
    expect(faultsOf(`format: chatml, tokenizer: ${file('chatml.json')}`)).toBe('');
  });

  it('has the special tokens that its template names, from the file beside the vocabulary', () => {
    for (const template of ['named.jinja', 'whole/tokenizer_config.json']) {
      const { tokenizer, ...format } = modelFormat({
        format: 'jinja',
        tokenizer: file('whole/tokenizer.json'),
        template: file(template),
      });
      expect(format.renderHead({ tools: [] })).toEqual([tokenizer.controlId('<s>')]);
    }
  });

  it.each([
    [
      'special tokens that nothing says',
      () => `format: jinja, tokenizer: ${file('bare/tokenizer.json')}, template: ${file('named.jinja')}`,
      'models.m.tokenizer: the chat template writes bos_token, and there is no tokenizer_config.json beside',
    ],
    ['no tokenizer', () => 'format: qwen3', "models.m.tokenizer: the format 'qwen3' needs"],
    [
      'a file beside it',
      () => `format: qwen3, tokenizer: ${file('tokenizer_config.json')}`,
      'model: is missing, so this is no tokenizer.json',
    ],
    [
      'a file without a template',
      () => `format: jinja, tokenizer: ${file('chatml.json')}, template: ${file('other.json')}`,
      "other.json has no text as 'chat_template'",
    ],
    ['no such tokenizer', () => `format: qwen3, tokenizer: ${file('none.json')}`, 'models.m.tokenizer: '],
    [
      'a tokenizer of another family',
      () => `format: llama3, tokenizer: ${file('chatml.json')}`,
      'models.m.format: ',
    ],
    [
      'a token that is missing',
      () => `format: qwen3, tokenizer: ${file('chatml.json')}`,
      'the control token <think>',
    ],
    [
      'a tokenizer where there is one',
      () => `tokenizer: ${file('chatml.json')}`,
      "models.m.tokenizer: the format 'harmony' takes no vocabulary",
    ],
    [
      'a template for a family',
      () => `format: chatml, template: x`,
      "models.m.template: the format 'chatml' writes without",
    ],
    [
      'no template',
      () => `format: jinja, tokenizer: ${file('chatml.json')}`,
      "models.m.template: the format 'jinja' needs",
    ],
    [
      'no such template',
      () => `format: jinja, tokenizer: ${file('chatml.json')}, template: ${file('none.jinja')}`,
      'models.m.template: ',
    ],
    [
      'what is no template',
      () => `format: jinja, tokenizer: ${file('chatml.json')}, template: ${file('broken.jinja')}`,
      'models.m.template: the chat template cannot be used',
    ],
    [
      'a template that cannot be gone on with',
      () => `format: jinja, tokenizer: ${file('chatml.json')}, template: ${file('forgetful.jinja')}`,
      'models.m.template: the chat template cannot be used: it does not write what was said before',
    ],
    [
      'images where there is no place for them',
      () => `format: chatml, tokenizer: ${file('chatml.json')}, images: { tokens: fixed, each: 9 }`,
      "models.m.images: the format 'chatml' has no place for images",
    ],
  ])('says at the start what is wrong: %s', (_name, model, expected) => {
    expect(faultsOf(model())).toContain(expected);
  });
});
