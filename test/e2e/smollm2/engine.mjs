import { equal, ok } from 'node:assert/strict';
import { tokenizerFromFile } from '../../../dist/apps/gateway/libs/formats/src/index.js';

const TEXTS = [
  'Hello, world',
  "it's 12345 km\n\n\tfoo  bar   ",
  '안녕하세요 세계 🫠🎉👩‍👩‍👧',
  'const a = { b: [1, 2] };\r\n',
  'é e\u0301 ﬁ \u200b\ufeff',
];

async function complete(engineUrl, request) {
  const response = await fetch(`${engineUrl}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ return_token_ids: true, ...request }),
  });
  return (await response.json()).choices[0];
}

/** What the gateway encodes is what llama.cpp would have encoded. */
export async function vocabulary({ engineUrl, gguf }, print) {
  const tokenizer = tokenizerFromFile(gguf);
  let count = 0;
  for (const prompt of TEXTS) {
    const { prompt_token_ids: theirs } = await complete(engineUrl, { prompt, max_tokens: 1 });
    equal([...tokenizer.encode(prompt)].join(), theirs.join(), prompt);
    count += theirs.length;
  }
  print(`  ${TEXTS.length} texts, ${count} tokens, all the same`);
}

/** The same seed gives the same answer, and another one another. */
export async function seeds({ engineUrl }, print) {
  const sample = async (seed) => {
    const prompt = '<|im_start|>user\nTell me a story.<|im_end|>\n<|im_start|>assistant\n';
    return (await complete(engineUrl, { prompt, max_tokens: 12, temperature: 1, seed })).token_ids.join();
  };
  // The first one finds less in the cache, and rounds in other places.
  await sample(1);
  const samples = [await sample(1), await sample(1), await sample(2)];
  equal(samples[0], samples[1]);
  ok(samples[0] !== samples[2]);
  print('  12 tokens at temperature 1: seed 1 twice the same, seed 2 others');
}

/** A client that leaves: the engine stops within a token. */
export async function leaving({ engineUrl }, print) {
  const request = { prompt: '<|im_start|>user\nCount to a thousand.<|im_end|>\n<|im_start|>assistant\n' };
  const response = await fetch(`${engineUrl}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ ...request, max_tokens: 4000, stream: true, temperature: 0 }),
  });
  const reader = response.body.getReader();
  await reader.read();
  await reader.cancel();
  for (;;) {
    const { running, last } = await (await fetch(`${engineUrl}/debug/state`)).json();
    if (running > 0) continue;
    equal(last.aborted, true);
    print(`  left after the first event, the engine stopped after ${last.completion_tokens} tokens of 4000`);
    ok(last.completion_tokens < 400);
    return;
  }
}
