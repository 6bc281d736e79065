import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { MessageItem } from '@turnpike/protocol';
import type { TurnStage } from './stage.js';
import { stageToken } from './stage-token.js';
import { expectIncremental } from './testing.js';
import type { Turn, TurnItem } from './turn.js';

const Letters = stageToken<readonly string[]>('letters');

function say(text: string, sampled = false): TurnItem {
  const item: MessageItem = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
  return sampled ? { item, sampled: { format: 'f', ids: Int32Array.of(text.length) } } : { item };
}
function textOf({ item }: TurnItem): string {
  const part = item.type === 'message' ? item.content[0] : undefined;
  return part?.type === 'input_text' || part?.type === 'output_text' ? part.text : '';
}
function readNew(turn: Turn): string[] {
  turn.count('items_validated', turn.items.length);
  return turn.items.map(textOf);
}
function letters(advance: TurnStage<readonly string[]>['advance']): TurnStage<readonly string[]> {
  return { token: Letters, needs: [], advance };
}

const turns = [[say('one'), say('two')], [say('three')], [say('four', true)], [say('five'), say('six')]];

describe('expectIncremental', () => {
  it('passes a stage that keeps the laws, synchronous or not, on any conversation', async () => {
    const appends = letters((previous = [], turn) => [...previous, ...readNew(turn)]);
    const later = letters(async (previous = [], turn) => [...previous, ...readNew(turn)]);
    const item = fc.tuple(fc.string(), fc.boolean()).map(([text, sampled]) => say(text, sampled));
    const conversation = fc.array(fc.array(item, { maxLength: 4 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(conversation, async (generated) => {
        await expectIncremental(appends, { turns: generated });
        await expectIncremental(later, { turns: generated });
      }),
      { numRuns: 30 },
    );
  });

  it('catches an artifact that depends on the split (law 1)', async () => {
    const perTurn = letters((previous = [], turn) => [...previous, readNew(turn).join(' ')]);
    const broken = expectIncremental(perTurn, { turns });
    await expect(broken).rejects.toThrow(
      "Stage 'letters' breaks law 1 (same as from scratch): folding turn by turn",
    );
  });

  it('catches an artifact that an empty turn changes (law 1)', async () => {
    const forgets = letters((previous = [], turn) =>
      turn.items.length === 0 ? [] : [...previous, ...readNew(turn)],
    );
    await expect(expectIncremental(forgets, { turns })).rejects.toThrow('with an empty turn after each');
  });

  it('catches a stage that changes previous (law 2)', async () => {
    const inPlace = letters((previous = [], turn) => {
      (previous as string[]).push(...readNew(turn));
      return previous;
    });
    await expect(expectIncremental(inPlace, { turns })).rejects.toThrow(
      'law 2 (branch-safe): advance changed previous',
    );
  });

  it('catches siblings that see each other though previous stays as it was (law 2)', async () => {
    // A shared buffer written behind the end of `previous`, as an append-only log would without care for forks.
    type View = { readonly buffer: string[]; readonly length: number };
    const shared: TurnStage<View> = {
      token: stageToken<View>('shared'),
      needs: [],
      advance: (previous = { buffer: [], length: 0 }, turn) => {
        const added = readNew(turn);
        added.forEach((text, index) => (previous.buffer[previous.length + index] = text));
        return { buffer: previous.buffer, length: previous.length + added.length };
      },
    };
    const shown = ({ buffer, length }: View) => JSON.stringify(buffer.slice(0, length));
    const broken = expectIncremental(shared, { turns, equal: (a, b) => shown(a) === shown(b) });
    await expect(broken).rejects.toThrow(
      "Stage 'shared' breaks law 2 (branch-safe): two children of one parent see each other",
    );
  });

  it('catches work that grows with the history (law 3)', async () => {
    const recounts = letters((previous = [], turn) => {
      turn.count('items_validated', previous.length);
      return [...previous, ...readNew(turn)];
    });
    await expect(expectIncremental(recounts, { turns })).rejects.toThrow(
      /law 3 \(O\(new\)\): turn 0 counts 50 items_validated after a long history and 4 after a short one/,
    );
  });

  it('catches a stage that reads the history instead of its previous artifact (law 3)', async () => {
    const replays = letters((_, turn) => {
      readNew(turn);
      return [...turn.history(), ...turn.items].map(textOf);
    });
    await expect(expectIncremental(replays, { turns })).rejects.toThrow(
      'turn 0 reads the history though it has a parent',
    );
  });

  it('folds needed stages beside the checked one and takes fixed artifacts for the others', async () => {
    const Suffix = stageToken<string>('suffix');
    const Joined = stageToken<string>('joined');
    const grows = letters((previous = [], turn) => {
      turn.count('items_validated', previous.length);
      return [...previous, ...readNew(turn)];
    });
    const joined: TurnStage<string> = {
      token: Joined,
      needs: [Letters, Suffix],
      advance: (_, turn) => `${turn.artifact(Letters).join(' ')}${turn.artifact(Suffix)}`,
    };
    await expectIncremental(joined, { turns, needs: [grows], artifacts: new Map([['suffix', '!']]) });
    await expect(expectIncremental(joined, { turns, needs: [grows] })).rejects.toThrow(
      "Stage 'joined' needs 'suffix', which is not in the pipeline.",
    );
  });

  it('hands the given settings to every turn', async () => {
    const models = new Set<string>();
    const notes = letters((previous = [], turn) => {
      models.add(`${turn.request.model} ${turn.request.input.length === turn.items.length}`);
      return [...previous, ...readNew(turn)];
    });
    await expectIncremental(notes, { turns, request: { model: 'gpt-oss' } });
    expect(models).toEqual(new Set(['gpt-oss true']));
  });
});
