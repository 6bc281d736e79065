import { type CompletionRequest } from './completion-request.js';
import { RequestError } from './errors.js';

/** @throws RequestError 404 for a model that is not served */
export function checkModel(served: string, { model }: CompletionRequest): void {
  if (model === undefined || model === served) return;
  throw new RequestError(404, `The model \`${model}\` does not exist.`, 'model');
}

/**
 * @param context most tokens of prompt and output together
 * @throws RequestError 400 in the words of vLLM, by which clients recognise it
 */
export function checkLength(context: number, prompt: number, { maxTokens }: CompletionRequest): void {
  if (prompt + maxTokens <= context) return;
  const asked =
    prompt >= context
      ? `your prompt has ${prompt} tokens`
      : `you requested ${prompt + maxTokens} tokens (${prompt} in the prompt, ${maxTokens} for the completion)`;
  const message = `This model's maximum context length is ${context} tokens. However, ${asked}. Please reduce the length of the prompt or of the completion.`;
  throw new RequestError(400, message, 'prompt');
}
