import { HARMONY, type Tokenizer } from '@turnpike/formats';

const CONTROLS: Readonly<Record<string, number>> = {
  '<|start|>': HARMONY.start,
  '<|end|>': HARMONY.end,
  '<|message|>': HARMONY.message,
  '<|channel|>': HARMONY.channel,
  '<|constrain|>': HARMONY.constrain,
  '<|call|>': HARMONY.call,
  '<|return|>': HARMONY.return,
};

/**
 * Ids of a prompt that a person typed. Unlike everywhere else, control tokens may be written as literals here; text
 * without any is taken for what a user says.
 */
export function encodeTextPrompt(text: string, tokenizer: Tokenizer): Int32Array {
  const conversation = text.includes('<|start|>')
    ? text
    : `<|start|>user<|message|>${text}<|end|><|start|>assistant`;
  const pieces = conversation.split(/(<\|[a-z]+\|>)/);
  const ids = pieces.flatMap((piece) => {
    const control = CONTROLS[piece];
    return control === undefined ? Array.from(tokenizer.encode(piece)) : [control];
  });
  return Int32Array.from(ids);
}
