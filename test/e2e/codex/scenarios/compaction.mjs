import assert from 'node:assert/strict';
import { builtInProvider, ownProvider } from '../home.mjs';
import { assertContinues, assertOnlyNew, costOf, inputTypes } from '../seen.mjs';
import { withAppServer } from '../setting.mjs';

/** A provider of one's own has to say that it can. */
const CAPABLE = { provider: ['supports_websockets = true', 'capabilities.remote_compaction = "v2"'] };
/** More than what Codex begins a conversation with, which is about 7,600 tokens. */
const LIMIT = 9_000;

/** The user's `/compact`. */
export const onRequest = {
  name: 'compaction on request',
  run: (engine) =>
    withAppServer(engine, { provider: builtInProvider }, async ({ gateway, wire, app }) => {
      await app.turn('Hello. [sim calls=0]');
      await compact(app);
      return goesOn(wire, gateway, app);
    }),
};

/** Before a turn that would begin beyond the limit. */
export const automatic = {
  name: 'compaction at the limit',
  run: (engine) => {
    const settings = { ...CAPABLE, top: [`model_auto_compact_token_limit = ${LIMIT}`] };
    return withAppServer(engine, { provider: ownProvider, settings }, async ({ gateway, wire, app }) => {
      await app.turn(`Hello. [sim calls=0 tokens=${LIMIT / 2}]`);
      return goesOn(wire, gateway, app);
    });
  },
};

/** In the middle of a tool loop: the trigger comes behind the output of a command. */
export const midTurn = {
  name: 'compaction in a tool loop',
  run: (engine) => {
    const settings = { ...CAPABLE, top: [`model_auto_compact_token_limit = ${LIMIT}`] };
    return withAppServer(engine, { provider: ownProvider, settings }, async ({ gateway, wire, app }) => {
      const turn = await app.begin('Think, then run. [sim calls=1 tool=exec_command reason=2000]');
      await app.until('item/started', isCompaction);
      // The scripted model would begin its task again: it does not read summaries.
      await app.steer(turn, 'That will do. [sim calls=0]');
      await app.ended(turn);
      assert.match(app.answer(turn), /You said: "That will do\."/);
      const trigger = wire.creates.find(isTrigger);
      assert.deepEqual(inputTypes(trigger), ['function_call_output', 'compaction_trigger']);
      return `the trigger behind a tool output; ${await goesOn(wire, gateway, app)}`;
    });
  },
};

/** Without the capability Codex asks for a summary in words, and brings it back as a message. */
export const local = {
  name: 'compaction by Codex itself',
  run: (engine) =>
    withAppServer(engine, { provider: ownProvider }, async ({ gateway, wire, app }) => {
      await app.turn('Hello. [sim calls=0]');
      await compact(app);
      assert.match(await app.turn('And now? [sim calls=0]'), /You said: "And now\?"/);
      const [asked, next] = wire.creates.slice(-2);
      for (const { frame } of [asked, next]) assert.equal(frame.previous_response_id, undefined);
      assert.ok(!inputTypes(next).includes('compaction'));
      const turns = await gateway.turns(wire.creates.length);
      assertOnlyNew(turns.at(-2));
      return `asked with all ${asked.frame.input.length} items: ${costOf(turns.at(-2))}; a new chain of ${next.frame.input.length} messages`;
    }),
};

/** A turn begins a new chain with the one compaction item, and the next continues it. */
async function goesOn(wire, gateway, app) {
  assert.match(await app.turn('And now? [sim calls=0]'), /You said: "And now\?"/);
  assert.match(await app.turn('And then? [sim calls=0]'), /You said: "And then\?"/);
  const triggered = wire.creates.findIndex(isTrigger);
  const [trigger, begins] = wire.creates.slice(triggered);
  assertContinues(trigger, wire.creates[triggered - 1]);
  const { output } = trigger.events.at(-1).response;
  assert.deepEqual(
    output.map(({ type }) => type),
    ['compaction'],
  );
  assert.equal(begins.frame.previous_response_id, undefined);
  const brought = begins.frame.input.filter(({ type }) => type === 'compaction');
  assert.deepEqual(
    brought.map(({ encrypted_content }) => encrypted_content),
    [output[0].encrypted_content],
  );
  const [before, last] = wire.creates.slice(-2);
  assertContinues(last, before);
  const turns = await gateway.turns(wire.creates.length);
  assertOnlyNew(turns.at(-1));
  return `one compaction item, a new chain that begins with it, and the turn after that: ${costOf(turns.at(-1))}`;
}

async function compact(app) {
  await app.call('thread/compact/start');
  const { params } = await app.until('item/completed', isCompaction);
  await app.ended(params.turnId);
}

function isTrigger({ frame }) {
  return frame.input.at(-1)?.type === 'compaction_trigger';
}

function isCompaction({ item }) {
  return item.type === 'contextCompaction';
}
