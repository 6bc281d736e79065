import { expect, it } from '@jest/globals';
import { parametersTextOf, parseInput, parseJson, type Tool } from '@turnpike/protocol';
import { contentOf, turnItemOf } from './rows.js';

it('C14: tools of items, and of items that one stands for, come back as they were sent', () => {
  const parameters = ['{"a":1.0}', '{"2":{},"1":{}}'];
  const tools = parameters.map((text) => `{"type":"function","name":"f","parameters":${text}}`).join();
  const body = `{"input":[{"type":"additional_tools","role":"developer","tools":[${tools}]}]}`;
  const items = parseInput((parseJson(body) as { input: unknown }).input);
  const [item] = items;
  if (item === undefined) throw new Error('There is an item.');
  const back = turnItemOf(contentOf({ item, expansion: { replaces: true, items } }));
  expect(back).toEqual({ item, expansion: { replaces: true, items } });
  for (const read of [back.item, back.expansion?.items[0]]) {
    const written = (read as { tools: Tool[] }).tools.map((tool) =>
      'parameters' in tool && tool.parameters ? parametersTextOf(tool.parameters) : undefined,
    );
    expect(written).toEqual(parameters);
  }
});
