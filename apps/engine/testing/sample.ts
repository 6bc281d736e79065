import { o200kHarmony } from '@turnpike/formats';
import { outputEnd, sampledRange } from '../src/generation/output-end.js';
import { type ModelOutput, SimulatedModel } from '../src/model/simulated-model.js';
import { type Answer, readMessages } from './client.js';
import { PromptBuilder, WEATHER_TOOL } from './conversation.js';

const tokenizer = o200kHarmony();

export const SHELL_TOOL = 'type shell = (_: {\ncommand: string[],\nworkdir?: string,\n}) => any;';
export const PATCH_TOOL = 'type apply_patch = (_: string) => any;';

export interface Sample {
  output: ModelOutput;
  sampled: number[];
  messages: Answer['messages'];
  text: string;
}

/** What a fresh model samples after a prompt. */
export function sample(prompt: readonly number[], script = '', limit = 5000): Sample {
  const model = new SimulatedModel(tokenizer, script);
  const ids = Int32Array.from(prompt);
  const output = model.respond(ids, model.reader.scan(ids, [], 0));
  const { tokens } = outputEnd(output, [], limit);
  const sampled = [...sampledRange(output, 0, tokens)];
  return { output, sampled, messages: readMessages(prompt, sampled), text: tokenizer.decode(sampled) };
}

/** A prompt with one user message and no tools. */
export function ask(text: string, effort = 'low'): number[] {
  return new PromptBuilder({ effort }).user(text).generation();
}

/** A conversation with these tools and one user message; with the weather tool when none is named. */
export function withTools(text: string, ...tools: string[]): PromptBuilder {
  return new PromptBuilder({ effort: 'low', tools: tools.length > 0 ? tools : [WEATHER_TOOL] }).user(text);
}
