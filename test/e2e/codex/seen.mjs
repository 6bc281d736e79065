// What a request of Codex was, and what it cost.
import assert from 'node:assert/strict';

/**
 * Most tokens that a turn of these scenarios brings: a sentence, or what a command printed. The conversation before it has
 * thousands, of which not one is to be encoded again.
 */
export const NEW_TOKENS = 200;

/** The id of the response to a request. */
export function responseId({ events }) {
  return events.find(({ type }) => type === 'response.created')?.response.id;
}

/** Codex warms a conversation up before it says anything: its first frame generates nothing. */
export function assertWarmUp({ frame, events }) {
  assert.equal(frame.generate, false, 'the first frame is no warm-up');
  assert.equal(frame.previous_response_id, undefined);
  const { status, output } = events.at(-1).response;
  assert.deepEqual({ status, output }, { status: 'completed', output: [] });
}

/** A request that continues the one before it on the same socket. */
export function assertContinues(create, before) {
  assert.equal(create.socket, before.socket, 'on another socket');
  assert.equal(create.frame.previous_response_id, responseId(before), 'continues something else');
}

/** Types of what a request brings. */
export function inputTypes({ frame }) {
  return frame.input.map(({ type }) => type);
}

/** The cost of a turn was that of what was new in it. */
export function assertOnlyNew({ work, input_tokens }) {
  assert.ok(input_tokens > 10 * NEW_TOKENS, `only ${input_tokens} tokens in all`);
  assert.ok(work.tokens_encoded <= NEW_TOKENS, `${work.tokens_encoded} tokens encoded`);
}

/** The cost of a turn in words. */
export function costOf({ work, input_tokens }) {
  return `${work.tokens_encoded} of ${input_tokens} tokens encoded`;
}
