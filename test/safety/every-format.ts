import { readdirSync, readFileSync } from 'node:fs';
import { chat, harmony, jinjaFormat, responses, type Format } from '@turnpike/formats';
import { CONTROLS, FAMILIES, formatOf } from '../../libs/formats/src/testing/families.js';
import { vocabularyWith } from '../../libs/formats/src/testing/vocabulary.js';

const TEMPLATES = new URL('../../libs/formats/testdata/templates/', import.meta.url);
const vocabulary = vocabularyWith([...new Set(Object.values(CONTROLS).flat())]);

/** The formats by the chat templates that are used as such: those of the others are refused, as their tests say. */
// Without those that are written by a family alone, or cannot show a tool.
const byTemplate = readdirSync(TEMPLATES)
  .filter((name) => name.endsWith('.jinja') && !/mistral|DeepSeek|Kimi|SmolLM2/.test(name))
  .map((name) => ({
    ...jinjaFormat({ template: readFileSync(new URL(name, TEMPLATES), 'utf8'), tokenizer: vocabulary }),
    name: `jinja ${name}`,
  }));

/** Every way there is to write a conversation. */
export const FORMATS: readonly Format[] = [
  harmony(),
  chat(),
  responses(),
  ...FAMILIES.map((family) => formatOf(family)),
  ...byTemplate,
];
