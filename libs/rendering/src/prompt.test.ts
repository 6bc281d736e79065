import { describe, expect, it } from '@jest/globals';
import { promptOf } from './prompt.js';
import { NOTHING_OPEN, renderedBytes, type Rendered } from './rendered.js';
import { EMPTY_TAIL } from './tail.js';
import { BODY, fakeFormat, START } from './testing/fake-format.js';
import { TokenLog } from './token-log.js';

function rendered(head: number[], body: number[]): Rendered {
  const key = {
    instructions: undefined,
    tools: undefined,
    effort: undefined,
    responseFormat: undefined,
    date: '2026-01-31',
  };
  const log = (ids: number[]) => TokenLog.EMPTY.append(Int32Array.from(ids));
  return {
    format: 'fake',
    head: { key, tokens: log(head) },
    body: log(body),
    tail: EMPTY_TAIL,
    calls: new Map(),
    settings: {},
    end: NOTHING_OPEN,
  };
}
function prompt(head: number[], body: number[], generationPrompt: number[]): [string, number] {
  const { json, length } = promptOf(
    rendered(head, body),
    fakeFormat({ generationPrompt: () => generationPrompt }),
  );
  return [Buffer.concat(json).toString(), length];
}

describe('promptOf', () => {
  it('writes head, items and generation prompt as one JSON array', () => {
    expect(prompt([1, 2], [3], [4, 55])).toEqual(['[1,2,3,4,55]', 5]);
    expect(prompt([], [], [4])).toEqual(['[4]', 1]);
  });

  it('ends with what is opened for the model, where something is', () => {
    const { json, length } = promptOf(rendered([1], [2]), fakeFormat(), { opening: { kind: 'answer' } });
    expect([Buffer.concat(json).toString(), length]).toEqual([`[1,2,${START},65,${BODY}]`, 5]);
  });

  it('ends without a comma where nothing makes the model answer', () => {
    expect(prompt([1], [2, 3], [])).toEqual(['[1,2,3]', 3]);
    expect(prompt([1], [], [])).toEqual(['[1]', 1]);
    expect(prompt([], [], [])).toEqual(['[]', 0]);
  });

  it('copies nothing', () => {
    const tokens = rendered([1], [2]);
    expect(promptOf(tokens, fakeFormat()).json[2]?.buffer).toBe(tokens.body.jsonChunks()[0]?.buffer);
  });
});

describe('renderedBytes', () => {
  it('counts ids and text that the parent does not hold', () => {
    const parent = rendered([1], [2]);
    expect(renderedBytes(parent, undefined)).toBe(12);
    const child = { ...parent, body: parent.body.append(Int32Array.of(345)) };
    expect(renderedBytes(child, parent)).toBe(8);
    expect(renderedBytes({ ...child, head: rendered([99], []).head }, parent)).toBe(8 + 7);
  });
});
