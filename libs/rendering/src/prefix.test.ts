import { expect, it } from '@jest/globals';
import { prefixReuse } from './prefix.js';
import { body, chain, head } from './testing/chain.js';
import { answer, call, given, output, reasoning, sampled, user } from './testing/conversations.js';

it('C13: tells how much of a prompt and its output the next one begins with', () => {
  const { fold } = chain();
  const asked = fold(undefined, given(user('q')));
  const called = fold(asked, [sampled(reasoning('r'), [11, 12]), sampled(call('c'), [13])]);
  const whole = head(called).length + body(called).length;
  const looped = fold(called, given(output('c')));
  expect(prefixReuse(called.rendered, looped.rendered)).toEqual({ kept: whole, rewound: 0 });

  const answered = fold(looped, [sampled(answer('a'), [14])]);
  const next = fold(answered, given(user('p')));
  const kept = head(asked).length + body(asked).length;
  const rewound = body(answered).length - body(asked).length;
  expect(prefixReuse(answered.rendered, next.rendered)).toEqual({ kept, rewound });

  const told = fold(answered, given(user('p')), { settings: { instructions: 'Be brief.' } });
  expect(prefixReuse(answered.rendered, told.rendered)).toEqual({ kept: 0, rewound: kept + rewound });
});
