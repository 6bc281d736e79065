// A tool loop over WebSocket with the openai SDK: each turn sends only what is new.
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';

const baseURL = process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:8686/v1';
const socket = new ResponsesWS(new OpenAI({ baseURL, apiKey: 'unused' }));
const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const tools = [{ type: 'function', name: 'read_file', parameters }];
const create = (fields) =>
  socket.send({ type: 'response.create', model: 'sim', store: false, tools, ...fields });

socket.on('response.completed', ({ response }) => {
  const { input_tokens, input_tokens_details } = response.usage;
  console.log(`${input_tokens} tokens read, ${input_tokens_details.cached_tokens} of them from the cache`);
  const call = response.output.find(({ type }) => type === 'function_call');
  if (!call) {
    console.log(response.output.at(-1).content[0].text);
    return socket.close();
  }
  console.log(`the model calls ${call.name}(${call.arguments})`);
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'Buy milk.' };
  create({ previous_response_id: response.id, input: [output] });
});

create({ input: 'read notes.txt' });
