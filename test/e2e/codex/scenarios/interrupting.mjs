import assert from 'node:assert/strict';
import { builtInProvider } from '../home.mjs';
import { assertContinues, assertOnlyNew, assertWarmUp, costOf, inputTypes, responseId } from '../seen.mjs';
import { withAppServer } from '../setting.mjs';

const LONG = 'Tell me everything. [sim calls=0 reason=0 tokens=20000]';

/** What the user says while the model writes: Codex interrupts the response and goes on from it, on the same socket. */
export const steering = {
  name: 'steering',
  run: (engine) =>
    withAppServer(engine, { provider: builtInProvider }, async ({ gateway, wire, app }) => {
      const turn = await whileAnswering(app);
      await app.steer(turn, 'Say this instead. [sim calls=0]');
      await app.ended(turn);
      assert.match(app.answer(turn), /You said: "Say this instead\."/);
      assert.match(await app.turn('And now? [sim calls=0]'), /You said: "And now\?"/);
      const [first, interrupted, steered, next] = wire.creates;
      assert.equal(wire.creates.length, 4);
      assertWarmUp(first);
      assert.deepEqual(first.frame.input, []);
      assertContinues(interrupted, first);
      assert.deepEqual(
        wire.controls.map(({ frame }) => ({ type: frame.type, id: frame.response_id })),
        [{ type: 'response.interrupt', id: responseId(interrupted) }],
      );
      assert.equal(interrupted.events.at(-1).response.incomplete_details.reason, 'interrupted');
      for (const [create, before, text] of [
        [steered, interrupted, 'Say this instead.'],
        [next, steered, 'And now?'],
      ]) {
        assertContinues(create, before);
        assert.deepEqual(inputTypes(create), ['message']);
        assert.ok(create.frame.input[0].content[0].text.startsWith(text));
      }
      assert.equal(wire.sockets, 1);
      const turns = (await gateway.turns(4)).slice(2);
      turns.forEach(assertOnlyNew);
      return `response.interrupt, then the message alone on the same socket: ${turns.map(costOf).join(', ')}`;
    }),
};

/** The user's Escape key: Codex drops the socket, and brings the conversation whole over a new one. */
export const escape = {
  name: 'interrupt by the user',
  run: (engine) =>
    withAppServer(engine, { provider: builtInProvider }, async ({ gateway, wire, app }) => {
      await app.turn('Hello. [sim calls=0]');
      const turnId = await whileAnswering(app);
      await app.call('turn/interrupt', { turnId });
      await app.ended(turnId, 'interrupted');
      assert.match(await app.turn('And now? [sim calls=0]'), /You said: "And now\?"/);
      const last = wire.creates.at(-1);
      assert.equal(last.socket, 2);
      assert.equal(last.frame.previous_response_id, undefined);
      const [, , interrupted, next] = await gateway.turns(4);
      assert.equal(interrupted.status, 'incomplete');
      assert.ok(interrupted.output_tokens < 20_000, 'the engine wrote on for nobody');
      assertOnlyNew(next);
      return `the engine stopped after ${interrupted.output_tokens} of 20000 tokens; all ${last.frame.input.length} items on a new socket: ${costOf(next)}`;
    }),
};

/** Begins a turn with a long answer; resolves with its id once some of it is there. */
async function whileAnswering(app) {
  const turn = await app.begin(LONG);
  await app.until('item/agentMessage/delta', ({ turnId }) => turnId === turn);
  return turn;
}
