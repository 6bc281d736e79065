// A tool loop with the Agents SDK, over HTTP or (TRANSPORT=websocket) over WebSocket. Prints the answers.
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { toolSearchTool } from '@openai/agents-openai';
import WebSocket from 'ws';
import { z } from 'zod';

// Node 20 has no WebSocket of its own that takes headers.
globalThis.WebSocket = WebSocket;
setTracingDisabled(true);

const useResponsesWebSocket = process.env.TRANSPORT === 'websocket';
const provider = new OpenAIProvider({
  apiKey: 'unused',
  baseURL: process.env.OPENAI_BASE_URL,
  useResponses: true,
  useResponsesWebSocket,
});
const lookup = tool({
  name: 'lookup',
  description: 'Looks a file up.',
  parameters: z.object({ path: z.string() }),
  execute: async () => 'Buy milk.',
});
const agent = new Agent({ name: 'reader', model: 'sim', instructions: 'Be brief.', tools: [lookup] });
const runner = new Runner({ modelProvider: provider });

const whole = await runner.run(agent, 'read notes.txt [sim calls=2]');
const streamed = await runner.run(agent, 'read it again [sim calls=1]', { stream: true });
await streamed.completed;

const later = tool({
  name: 'read_later',
  description: 'Looks a file up, once it has been searched for.',
  parameters: z.object({ path: z.string() }),
  deferLoading: true,
  execute: async () => 'Buy honey.',
});
const search = toolSearchTool({
  execution: 'client',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  execute: async () => [later],
});
const seeker = new Agent({ name: 'seeker', model: 'sim', instructions: 'Be brief.', tools: [later, search] });
const searched = await runner.run(seeker, 'use read_later [sim calls=2]');
console.log(
  JSON.stringify({
    whole: whole.finalOutput,
    streamed: streamed.finalOutput,
    searched: searched.finalOutput,
    items: searched.newItems.map(({ type }) => type),
  }),
);
process.exit(0);
