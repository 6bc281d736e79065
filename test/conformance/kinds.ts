import { type SocketClient, type WireEvent } from '../e2e/socket-client.js';
import type { Body } from './transports.js';

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
export const WEATHER = { type: 'function', name: 'get_weather', parameters: CITY };
export const NOTE = { type: 'custom', name: 'note' };
export const FILES = {
  type: 'namespace',
  name: 'mcp__files',
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }],
};
const TOOLS = [WEATHER, NOTE, FILES];
const LOW = { effort: 'low' };
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const PERSON_FORMAT = { format: { type: 'json_schema', name: 'person', schema: PERSON } };

/** A request, and how its response ends. */
export interface Kind {
  readonly name: string;
  readonly ends: 'completed' | 'incomplete' | 'failed';
  readonly request: Body;
  /** What the output is made of, by type. */
  readonly output: readonly string[];
}

function kind(name: string, ends: Kind['ends'], output: readonly string[], request: Body): Kind {
  return { name, ends, request, output };
}

const CALL = 'function_call';
const COMMENTARY = 'message';

/** Every way in which a response can come about and end, whatever the transport. */
export const KINDS: readonly Kind[] = [
  kind('an answer', 'completed', ['message'], { input: 'x', reasoning: LOW }),
  kind('an answer behind reasoning', 'completed', ['reasoning', 'message'], { input: 'x' }),
  kind('a long answer', 'completed', ['message'], { input: 'x [sim tokens=400]', reasoning: LOW }),
  kind('an empty answer', 'completed', ['message'], { input: 'x [sim empty=1]', reasoning: LOW }),
  kind('an answer with emoji', 'completed', ['message'], { input: 'x [sim emoji=1]', reasoning: LOW }),
  kind('an answer in JSON', 'completed', ['reasoning', 'message'], { input: 'x', text: PERSON_FORMAT }),
  kind('a call', 'completed', ['reasoning', CALL], { input: 'x', tools: [WEATHER] }),
  kind('a call with the recipient behind the channel', 'completed', [CALL], {
    input: 'x [sim call-form=channel]',
    tools: [WEATHER],
    reasoning: LOW,
  }),
  kind('calls behind a comment', 'completed', ['reasoning', COMMENTARY, CALL, CALL, CALL], {
    input: 'x [sim parallel=3 commentary=1]',
    tools: TOOLS,
  }),
  kind('a call of a custom tool', 'completed', ['custom_tool_call'], {
    input: 'x [sim custom=note]',
    tools: TOOLS,
    reasoning: LOW,
  }),
  kind('a call of a tool in a namespace', 'completed', [CALL], {
    input: 'x [sim tool=mcp__files.read]',
    tools: TOOLS,
    reasoning: LOW,
  }),
  kind('a call that was forced', 'completed', ['reasoning', CALL], {
    input: 'x [sim calls=0]',
    tools: TOOLS,
    tool_choice: 'required',
  }),
  kind('a call that was forced at once', 'completed', [CALL], {
    input: 'x [sim calls=0]',
    tools: TOOLS,
    tool_choice: { type: 'function', name: 'read' },
    reasoning: { effort: 'none' },
  }),
  kind('calls that were too many', 'completed', [CALL], {
    input: 'x [sim parallel=3]',
    tools: TOOLS,
    parallel_tool_calls: false,
    reasoning: LOW,
  }),
  kind('an answer in place of a call that was ruled out', 'completed', ['message'], {
    input: 'x [sim unasked=get_weather]',
    tools: TOOLS,
    tool_choice: 'none',
    reasoning: LOW,
  }),
  kind('a warm-up', 'completed', [], { input: 'x', generate: false }),
  kind('a broken header', 'completed', ['reasoning', 'message'], { input: 'x [sim broken=header]' }),
  kind('a stray end', 'completed', ['reasoning', 'message'], { input: 'x [sim broken=stray]' }),
  kind('an answer without a message token', 'completed', ['message'], {
    input: 'x [sim broken=nomessage]',
    reasoning: LOW,
  }),
  kind('an answer without an end token', 'completed', ['message'], {
    input: 'x [sim broken=noend]',
    reasoning: LOW,
  }),
  kind('the limit in an answer', 'incomplete', ['message'], {
    input: 'x [sim tokens=200]',
    reasoning: LOW,
    max_output_tokens: 12,
  }),
  kind('the limit in reasoning', 'incomplete', ['reasoning'], { input: 'x', max_output_tokens: 9 }),
  kind('the limit in arguments', 'incomplete', [CALL], {
    input: 'a question with some words in it',
    tools: [WEATHER],
    reasoning: LOW,
    max_output_tokens: 18,
  }),
  kind('the limit in the text of a custom tool', 'incomplete', ['custom_tool_call'], {
    input: 'a question with some words in it [sim custom=note]',
    tools: TOOLS,
    reasoning: LOW,
    max_output_tokens: 15,
  }),
  kind('the limit before anything', 'incomplete', [], { input: 'x', max_output_tokens: 1 }),
  kind('an engine that dies in an answer', 'failed', ['message'], { input: 'x [sim die=8]', reasoning: LOW }),
  kind('an engine that dies in reasoning', 'failed', ['reasoning'], { input: 'x [sim die=8]' }),
  kind('an engine that dies in a call', 'failed', [CALL], {
    input: 'a question with some words in it [sim die=18]',
    tools: [WEATHER],
    reasoning: LOW,
  }),
  kind('an engine that dies before anything', 'failed', [], { input: 'x [sim die=0]' }),
  kind('an error inside the stream', 'failed', ['message'], { input: 'x [sim error=8]', reasoning: LOW }),
  kind('an engine that refuses', 'failed', [], { input: 'x [sim status=500]' }),
  kind('an engine that is overloaded', 'failed', [], { input: 'x [sim status=503]' }),
  kind('an answer that is not in its format', 'failed', ['message'], {
    input: 'x [sim badjson=1]',
    text: PERSON_FORMAT,
    reasoning: LOW,
  }),
  kind('a call that does not come', 'failed', [], {
    input: 'x [sim unasked=nope]',
    tools: TOOLS,
    tool_choice: 'required',
    reasoning: LOW,
  }),
];

/** The events of a response that its client interrupts once it has said something. */
export async function interrupted(socket: SocketClient, stream_id?: string): Promise<WireEvent[]> {
  const from = socket.events.length;
  const own = () => socket.events.slice(from).filter((event) => event.stream_id === stream_id);
  socket.send({
    type: 'response.create',
    model: 'sim',
    stream_id,
    input: 'x [sim reason=3 tokens=300000]',
  });
  await socket.until(() => own().some(({ type }) => type === 'response.output_text.delta'));
  socket.send({
    type: 'response.interrupt',
    response_id: own()[0]?.response?.id,
    mode: 'discard_partial_items',
  });
  await socket.until(() => own().some(({ type }) => type === 'response.incomplete'));
  return own();
}
