import { equal, match, ok } from 'node:assert/strict';
import { Session } from './session.mjs';

const READ_NOTE = {
  type: 'function',
  name: 'read_note',
  description: 'Reads a note.',
  parameters: {
    type: 'object',
    properties: { title: { type: 'string' } },
    required: ['title'],
    additionalProperties: false,
  },
};
const NOTES = ['Buy milk.', 'Call Anna at nine.', '커피를 마시다 ☕', 'The key is under the mat.', 'Done.'];
/** Enough for a call; where the model does not end by itself, the output is cut. */
const OUTPUT_TOKENS = 64;

/** A real answer, streamed. */
export async function answer(platform, print) {
  const session = await Session.open(platform);
  const { response, text, last } = await session.turn({ input: 'What is the capital of France?' });
  session.close();
  print(`  ${JSON.stringify(text)} (${last.prompt_tokens} tokens read, ${last.completion_tokens} written)`);
  equal(response.status, 'completed');
  match(text, /Paris/);
}

/**
 * Five steps of a tool loop, then a fork from the middle of it, then both branches: each time the engine has the whole prompt
 * and output of the turn before in its cache. The model is tiny and would rather chat, so it is made to call.
 */
export async function toolLoop(platform, print) {
  const session = await Session.open(platform);
  const settings = {
    tools: [READ_NOTE],
    tool_choice: { type: 'function', name: 'read_note' },
    max_output_tokens: OUTPUT_TOKENS,
  };
  print('              prompt  cached  the turn before: prompt + output');
  const step = async (name, parent, fields) => {
    const previous = parent && { previous_response_id: parent.response.id };
    const turn = await session.turn({ ...settings, ...previous, ...fields });
    const whole = parent ? parent.last.prompt_tokens + parent.last.completion_tokens : 0;
    const { prompt_tokens: prompt, cached_tokens: cached } = turn.first;
    const sum = parent && `${parent.last.prompt_tokens} + ${parent.last.completion_tokens} = ${whole}`;
    print(`  ${name.padEnd(10)} ${String(prompt).padStart(7)} ${String(cached).padStart(7)}  ${sum ?? ''}`);
    return { ...turn, more: cached - whole };
  };
  const turns = [await step('question', undefined, { input: 'Read all of my notes, one after the other.' })];
  for (const [i, note] of NOTES.entries()) {
    turns.push(await step(`step ${i + 1}`, turns[i], { input: outputs(turns[i], note) }));
    equal(turns.at(-1).more, 0, `step ${i + 1}`);
  }
  const fork = await step('fork of 2', turns[2], { input: outputs(turns[2], 'There is no such note.') });
  // Its tool output begins as the one of step 3 does.
  ok(fork.more >= 0, 'fork');
  // Neither branch has cost the other one anything; where sequences cannot be copied, what is behind the fork is evaluated anew.
  const copies = process.platform === 'linux';
  for (const [name, parent] of [
    ['step 6', turns[5]],
    ['fork, on', fork],
  ]) {
    const next = await step(name, parent, { input: outputs(parent, 'And then?') });
    if (copies) equal(next.more, 0, name);
  }
  session.close();
}

/** What a turn's call gave; where the model wrote none, the note as a message. */
function outputs({ response }, note) {
  const calls = response.output.filter(
    ({ type, status }) => type === 'function_call' && status === 'completed',
  );
  if (calls.length === 0) return [{ role: 'user', content: note }];
  return calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: note }));
}

/** Conversations side by side keep their sequences. */
export async function sideBySide(platform, print) {
  const sessions = await Promise.all([1, 2].map(() => Session.open(platform)));
  const ask = (content, previous) =>
    Promise.all(
      sessions.map((session, i) =>
        session.turn({
          input: `${content[i]}`,
          max_output_tokens: 16,
          ...(previous && { previous_response_id: previous[i].response.id }),
        }),
      ),
    );
  const first = await ask(['Name a color.', 'Name a number.']);
  const second = await ask(['Another one.', 'Another one.'], first);
  const cached = second.map(({ response }) => response.usage.input_tokens_details.cached_tokens);
  const before = first.map(({ response: { usage } }) => usage.input_tokens + usage.output_tokens);
  print(`  cached ${cached.join(' and ')} of ${before.join(' and ')} tokens before`);
  cached.forEach((tokens, i) => equal(tokens, before[i]));
  for (const session of sessions) session.close();
}
