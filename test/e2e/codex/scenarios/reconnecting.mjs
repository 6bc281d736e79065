import assert from 'node:assert/strict';
import { ownProvider } from '../home.mjs';
import { assertOnlyNew, costOf, responseId } from '../seen.mjs';
import { withAppServer } from '../setting.mjs';

/** The connection is lost while nobody speaks. */
export const betweenTurns = {
  name: 'connection lost between turns',
  run: (engine) =>
    lose(engine, async ({ wire, app }) => {
      wire.cut();
      assert.match(await app.turn('Next. [sim calls=1 tool=exec_command]'), /turnpike-1[^]*"Next\."/);
    }),
};

/** In the middle of an answer, which is given up and asked for again. */
export const midAnswer = {
  name: 'connection lost in an answer',
  run: (engine) =>
    lose(engine, async ({ wire, app }) => {
      cutAt(wire, 'response.output_text.delta');
      assert.match(await app.turn('Next. [sim calls=0 tokens=200]'), /You said: "Next\."/);
    }),
};

/** In the middle of a tool call, which has not been made yet. */
export const midCall = {
  name: 'connection lost in a tool call',
  run: (engine) =>
    lose(engine, async ({ wire, app }) => {
      cutAt(wire, 'response.function_call_arguments.delta');
      assert.match(await app.turn('Next. [sim calls=2 tool=exec_command]'), /turnpike-2[^]*"Next\."/);
    }),
};

/** Behind a tool call: Codex has it and makes it, but has not heard that the response has completed. */
export const behindCall = {
  name: 'connection lost behind a tool call',
  run: (engine) =>
    lose(engine, async ({ wire, app }) => {
      cutAt(wire, 'response.completed');
      assert.match(await app.turn('Next. [sim calls=2 tool=exec_command]'), /turnpike-2[^]*"Next\."/);
    }),
};

/**
 * A conversation whose connection is lost in `scenario`. Codex may continue it by the id of its last response, or bring it
 * whole: either way the conversation goes on, at the cost of what is new.
 */
function lose(engine, scenario) {
  return withAppServer(engine, { provider: ownProvider }, async (setting) => {
    const { gateway, wire, app } = setting;
    await app.turn('Hello. [sim calls=1 tool=exec_command]');
    await scenario(setting);
    assert.match(await app.turn('Last. [sim calls=0]'), /You said: "Last\."/);
    assert.equal(wire.sockets, 2);
    const { frame, events } = wire.creates.find(({ socket }) => socket === 2);
    assert.equal(frame.store, false);
    const id = responseId({ events });
    const turns = await gateway.turns(wire.creates.length);
    const turn = turns.find(({ response }) => response === id);
    assertOnlyNew(turn);
    const how =
      frame.previous_response_id === undefined
        ? `no previous_response_id but all ${frame.input.length} items`
        : `previous_response_id and ${frame.input.length} items`;
    return `Codex sent ${how} on a new socket: ${costOf(turn)}`;
  });
}

/** Cuts the line before the third event of this kind from now on, or the first where there is one a response. */
function cutAt(wire, type) {
  let left = type.endsWith('.delta') ? 3 : 1;
  wire.cutsAt = (event) => event.type === type && --left === 0;
}
