// A tool loop with the AI SDK, streamed. Prints the answer and how many steps it took.
import { createOpenAI } from '@ai-sdk/openai';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const openai = createOpenAI({
  apiKey: process.env.API_KEY ?? 'unused',
  baseURL: process.env.OPENAI_BASE_URL,
});
const lookup = tool({
  description: 'Looks a file up.',
  inputSchema: z.object({ path: z.string() }),
  execute: async () => 'Buy milk.',
});

const result = streamText({
  model: openai.responses('sim'),
  prompt: 'read notes.txt [sim calls=2]',
  // The server runs no web search: it is dropped, and reported in a field that the SDK does not know.
  tools: { lookup, web_search: openai.tools.webSearch({}) },
  stopWhen: stepCountIs(5),
  ...(process.env.STORE === 'false' && { providerOptions: { openai: { store: false } } }),
});
let text = '';
for await (const delta of result.textStream) text += delta;
const { totalTokens } = await result.totalUsage;
console.log(JSON.stringify({ text, steps: (await result.steps).length, totalTokens }));
