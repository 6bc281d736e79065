import type { Item, MessageItem, Tool } from '@turnpike/protocol';

export function user(text: string): MessageItem {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}
export function developer(text: string): MessageItem {
  return { type: 'message', role: 'developer', content: [{ type: 'input_text', text }] };
}
export function answer(text: string): MessageItem {
  const content = [{ type: 'output_text' as const, text, annotations: [], logprobs: [] }];
  return { type: 'message', role: 'assistant', content, phase: 'final_answer' };
}
export function reasoning(text: string): Item {
  return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] };
}
export function call(id: string, name: string, args: string): Item {
  return { type: 'function_call', call_id: id, name, arguments: args };
}
export function output(id: string, text: string): Item {
  return { type: 'function_call_output', call_id: id, output: text };
}

export const TOOLS: Tool[] = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'Weather at a place (°C). 날씨 "지금" <now>',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: "The user's city & country", enum: ['서울', 'Oslo'] },
        days: { type: 'integer', minimum: 1 },
      },
      required: ['city'],
    },
  },
  {
    type: 'function',
    name: 'search',
    description: 'Full-text search',
    parameters: {
      type: 'object',
      properties: { q: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
    },
  },
];

/** A tool loop with parallel calls behind a finished turn, ending where the model is to answer. */
export const LOOP: Item[] = [
  user('안녕하세요 👋 hello'),
  reasoning('The user greets me.\nIn Korean: 인사.'),
  answer('안녕하세요! 😀'),
  user('서울 날씨는? <b>now</b>'),
  reasoning('I need the weather 🌤️'),
  answer('Let me look.'),
  call('c1', 'get_weather', '{"city":"서울","days":2}'),
  call('c2', 'search', '{"q":"weather \\"today\\"\\n","tags":["a","b"]}'),
  output('c1', '맑음, 21°C ☀️'),
  output('c2', '{"hits": 3}'),
  reasoning('Now I know.'),
  call('c3', 'search', '{}'),
  output('c3', 'nothing'),
];

/** Other turns behind that loop, the last of them to be answered. */
export const LATER: Item[] = [
  ...LOOP,
  reasoning('Enough.'),
  answer('맑습니다 ☀️'),
  user('thanks 🙏'),
  answer('천만에요.'),
  user('Now search "서울"'),
];

/** Behind those, another loop: arguments in arguments, and outputs that say nothing. */
export const LATER_LOOP: Item[] = [
  ...LATER,
  reasoning('찾아보자.'),
  call(
    'c4',
    'search',
    '{"q":"서울 🌆","in":{"나라":["한국",null],"pages":[1,2.5,-3],"deep":{"ok":true,"none":{}}}}',
  ),
  output('c4', ''),
  reasoning('Once more.'),
  call('c5', 'search', '{"q":"","tags":[]}'),
  call('c6', 'get_weather', '{"city":"O\'Hare & \\\\ <x>"}'),
  output('c5', ''),
  output('c6', '[]'),
];

/** A plain conversation. */
export const CHAT: Item[] = [user(' hi 👋 '), answer('hello 👩‍👩‍👧'), user('bye 한국어')];
