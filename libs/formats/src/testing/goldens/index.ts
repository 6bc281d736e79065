import { hermesGoldens } from './hermes.js';
import { qwenCoderGoldens } from './qwen-coder.js';
import { llama3Goldens } from './llama3.js';
import { mistralGoldens } from './mistral.js';
import { deepseekGoldens } from './deepseek.js';
import { glmGoldens } from './glm.js';
import { kimiGoldens } from './kimi.js';
import { minimaxGoldens } from './minimax.js';
import { gemmaGoldens } from './gemma.js';
import { lfmGoldens } from './lfm.js';
import { cohereGoldens } from './cohere.js';
import type { Golden } from './golden.js';

export const GOLDENS: readonly Golden[] = [
  ...hermesGoldens,
  ...qwenCoderGoldens,
  ...llama3Goldens,
  ...mistralGoldens,
  ...deepseekGoldens,
  ...glmGoldens,
  ...kimiGoldens,
  ...minimaxGoldens,
  ...gemmaGoldens,
  ...lfmGoldens,
  ...cohereGoldens,
];
