import assert from 'node:assert/strict';
import { exec } from '../exec.mjs';
import { ownProvider } from '../home.mjs';
import { assertContinues, assertOnlyNew, assertWarmUp, costOf, inputTypes } from '../seen.mjs';
import { withSetting } from '../setting.mjs';

const CALLS = 3;

/** Over WebSocket every request after the first continues the one before, with the output of a command and nothing else. */
export const overWebSocket = {
  name: 'tool loop over WebSocket',
  run: (engine) =>
    withSetting(engine, { provider: ownProvider }, async ({ gateway, wire, home }) => {
      await loop(home);
      assert.equal(wire.sockets, 1);
      assert.equal(wire.creates.length, 1 + CALLS + 1);
      const [first, second, ...rest] = wire.creates;
      assertWarmUp(first);
      assertContinues(second, first);
      rest.forEach((create, index) => {
        assertContinues(create, wire.creates[index + 1]);
        assert.deepEqual(inputTypes(create), ['function_call_output']);
      });
      const turns = await gateway.turns(wire.creates.length);
      assert.ok(turns.every(({ transport }) => transport === 'websocket'));
      const followUps = turns.slice(2);
      followUps.forEach(assertOnlyNew);
      return `${CALLS} commands on one socket, each output alone in its frame: ${followUps.map(costOf).join(', ')}`;
    }),
};

/** Without WebSocket in Codex's configuration. */
export const overHttp = {
  name: 'tool loop over HTTP',
  run: (engine) => {
    const settings = { provider: ['supports_websockets = false'] };
    return withSetting(engine, { provider: ownProvider, settings }, async ({ gateway, wire, home }) => {
      await loop(home);
      assert.equal(wire.sockets + wire.refused.length, 0);
      return replays(gateway, wire);
    });
  },
};

/** With WebSocket switched off in the gateway. */
export const fallback = {
  name: 'fall-back to HTTP',
  run: (engine) => {
    const options = { provider: ownProvider, gateway: ['websocket: false'] };
    return withSetting(engine, options, async ({ gateway, wire, home }) => {
      await loop(home);
      assert.deepEqual(wire.refused, [426]);
      return `one upgrade refused with 426, then ${await replays(gateway, wire)}`;
    });
  },
};

async function loop(home) {
  const { answer, commands } = await exec(home, `Run commands. [sim calls=${CALLS} tool=exec_command]`);
  const printed = commands.map(({ aggregated_output }) => aggregated_output.trim());
  assert.deepEqual(printed, ['turnpike-1', 'turnpike-2', 'turnpike-3']);
  assert.match(answer, /turnpike-3[^]*3 tool outputs/);
}

/** Over HTTP Codex sends the whole conversation with every request, which is recognised. */
async function replays(gateway, { posts }) {
  assert.equal(posts.length, CALLS + 1);
  for (const { previous_response_id } of posts) assert.equal(previous_response_id, undefined);
  const turns = await gateway.turns(posts.length);
  assert.ok(turns.every(({ transport }) => transport === 'http'));
  const followUps = turns.slice(1);
  followUps.forEach(assertOnlyNew);
  const items = posts.slice(1).map(({ input }) => input.length);
  return `${posts.length} requests over HTTP, the last three with all of their ${items.join(', ')} items: ${followUps.map(costOf).join(', ')}`;
}
