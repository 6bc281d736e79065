import { expect, it } from '@jest/globals';
import { parseRequest } from './request.js';
import { sentPath } from './sent-path.js';

/** The field of a request with this input. */
function fieldOf(input: unknown, path: string): string {
  return sentPath(path, parseRequest({ model: 'm', input }, 'http').sentAsText);
}

const asText = { role: 'user', content: 'x' };
const asParts = { role: 'user', content: [{ type: 'input_text', text: 'x' }] };

it.each([
  ['a text', 'x', 'input[0].content[0].text', 'input'],
  ['a message with a text', [asParts, asText], 'input[1].content[0].text', 'input[1].content'],
  ['a message of parts', [asParts, asText], 'input[0].content[0].text', 'input[0].content[0].text'],
  ['another field of it', [asText], 'input[0].id', 'input[0].id'],
  ['what came before', [asText], 'previous_response_id.content[0].text', 'previous_response_id'],
  ['a conversation', 'x', 'conversation.content[0].text', 'conversation'],
  ['no item', 'x', 'instructions', 'instructions'],
])('names %s as its client sent it', (_, input, path, field) => {
  expect(fieldOf(input, path)).toBe(field);
});
