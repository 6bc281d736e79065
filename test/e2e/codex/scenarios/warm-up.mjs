import assert from 'node:assert/strict';
import { exec } from '../exec.mjs';
import { ownProvider } from '../home.mjs';
import { assertContinues, assertWarmUp, inputTypes } from '../seen.mjs';
import { withSetting } from '../setting.mjs';

/** The first turn continues the warm-up, and brings only what the warm-up did not have. */
export const warmUp = {
  name: 'warm-up',
  run: (engine) =>
    withSetting(engine, { provider: ownProvider }, async ({ gateway, wire, home }) => {
      const { answer } = await exec(home, 'Say hello. [sim calls=0]');
      assert.match(answer, /You said: "Say hello\."/);
      assert.equal(wire.creates.length, 2);
      const [first, second] = wire.creates;
      assertWarmUp(first);
      assertContinues(second, first);
      const known = new Set(first.frame.input.map(({ id }) => id));
      assert.ok(known.size > 0);
      assert.ok(second.frame.input.every(({ id }) => !known.has(id)));
      const [warm, turn] = await gateway.turns(2);
      assert.equal(warm.output_tokens, 0);
      assert.ok(turn.work.tokens_encoded < warm.work.tokens_encoded);
      return `generate: false took in ${warm.work.tokens_encoded} tokens, the turn continued it with ${inputTypes(second).length} new items, ${turn.work.tokens_encoded} tokens`;
    }),
};
