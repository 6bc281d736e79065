import assert from 'node:assert/strict';
import { exec } from '../exec.mjs';
import { ownProvider } from '../home.mjs';
import { assertContinues, assertOnlyNew, assertWarmUp, costOf } from '../seen.mjs';
import { withSetting } from '../setting.mjs';

/** Another Codex goes on with a conversation: it warms up with the beginning, and sends all the rest behind that. */
export const resuming = {
  name: 'resumed conversation',
  run: (engine) =>
    withSetting(engine, { provider: ownProvider }, async ({ gateway, wire, home }) => {
      await exec(home, 'Run it. [sim calls=1 tool=exec_command]');
      const from = wire.creates.length;
      const { answer } = await exec(home, 'And now? [sim calls=0]', true);
      assert.match(answer, /You said: "And now\?"/);
      const [first, second] = wire.creates.slice(from);
      assert.equal(first.socket, 2);
      assertWarmUp(first);
      assertContinues(second, first);
      const turn = (await gateway.turns(from + 2)).at(-1);
      assertOnlyNew(turn);
      return `another process continued its warm-up with ${second.frame.input.length} items: ${costOf(turn)}`;
    }),
};
