import { describe, expect, it } from '@jest/globals';
import { listedModels } from './index.js';

describe('a list of models', () => {
  it.each([
    [
      'vLLM',
      { id: 'openai/gpt-oss-20b', object: 'model', owned_by: 'vllm', root: 'x', max_model_len: 131072 },
      { id: 'openai/gpt-oss-20b', ownedBy: 'vllm', contextTokens: 131072 },
    ],
    [
      'SGLang',
      { id: 'qwen', object: 'model', owned_by: 'sglang', max_model_len: 40960 },
      { id: 'qwen', ownedBy: 'sglang', contextTokens: 40960 },
    ],
    [
      'llama-server',
      { id: 'm.gguf', owned_by: 'llamacpp', meta: { vocab_type: 2, n_vocab: 1, n_ctx_train: 8192 } },
      { id: 'm.gguf', ownedBy: 'llamacpp', trainedTokens: 8192 },
    ],
    [
      'llama-server that says what it was started with',
      { id: 'm.gguf', owned_by: 'llamacpp', meta: { n_ctx: 4096, n_ctx_train: 8192 } },
      { id: 'm.gguf', ownedBy: 'llamacpp', contextTokens: 4096, trainedTokens: 8192 },
    ],
    [
      'Ollama',
      { id: 'gpt-oss:20b', object: 'model', created: 1, owned_by: 'library' },
      { id: 'gpt-oss:20b', ownedBy: 'library' },
    ],
    [
      'LM Studio',
      { id: 'a', object: 'model', owned_by: 'organization_owner' },
      { id: 'a', ownedBy: 'organization_owner' },
    ],
  ])('of %s', (_, entry, model) => {
    expect(listedModels({ object: 'list', data: [entry] })).toEqual([model]);
  });

  it('leaves out what writes nothing and what makes no sense', () => {
    const ids = [
      'nomic-embed-text',
      'text-embedding-3',
      'bge-reranker',
      'm',
      '',
      7,
      null,
      'x'.repeat(300),
      '\u001b[2J',
      'a b',
    ];
    const data = [...ids.map((id) => ({ id })), null, 'm2', { id: 'n', max_model_len: -1, meta: 'x' }];
    expect(listedModels({ data })).toEqual([{ id: 'm' }, { id: 'n' }]);
  });

  it('of an Ollama without models is an empty one', () => {
    expect(listedModels({ object: 'list', data: null })).toEqual([]);
  });

  it.each([undefined, null, 'x', 7, [], {}, { data: {} }, { data: 'x' }, { data: null }])(
    'is none: %j',
    (body) => {
      expect(listedModels(body)).toBeUndefined();
    },
  );

  it('of any length is read to a limit', () => {
    const data = Array.from({ length: 5_000 }, (_, index) => ({ id: `m${index}` }));
    expect(listedModels({ data })).toHaveLength(1_000);
  });
});
