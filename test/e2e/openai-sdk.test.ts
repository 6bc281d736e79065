import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import type { Response, ResponseFunctionToolCall, Tool } from 'openai/resources/responses/responses';
import { startPlatform, type App } from './platform.js';

const TOOLS: Tool[] = [
  {
    type: 'function',
    name: 'read_file',
    description: 'Reads a file.',
    parameters: {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    },
    strict: true,
  },
];

let app: App;
let openai: OpenAI;

beforeAll(async () => {
  app = await startPlatform();
  openai = new OpenAI({ apiKey: 'unused', baseURL: `${app.url}/v1`, maxRetries: 0 });
});
afterAll(() => app.stop());

function callsOf(response: Response): ResponseFunctionToolCall[] {
  return response.output.filter((item) => item.type === 'function_call');
}

describe('openai SDK', () => {
  it('completes a tool loop with the HTTP stream helper', async () => {
    let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'read two files [sim calls=2]' }];
    let previous: string | undefined;
    for (let turn = 0; ; turn++) {
      const stream = openai.responses.stream({
        model: 'sim',
        tools: TOOLS,
        input,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      });
      const response = await stream.finalResponse();
      previous = response.id;
      const calls = callsOf(response);
      if (calls.length === 0) {
        expect(turn).toBe(2);
        expect(response.output_text).toContain('contents 1');
        break;
      }
      expect(JSON.parse(calls[0]?.arguments ?? '')).toHaveProperty('path');
      input = calls.map(({ call_id }) => ({
        type: 'function_call_output',
        call_id,
        output: `contents ${turn}`,
      }));
    }
  });

  it('completes a tool loop over ResponsesWS', async () => {
    const socket = new ResponsesWS(openai);
    const once = (frame: Parameters<typeof socket.send>[0]) =>
      new Promise<Response>((resolve, reject) => {
        const done = (event: { response: Response }) => {
          socket.off('response.completed', done);
          resolve(event.response);
        };
        socket.on('response.completed', done);
        socket.on('error', reject);
        socket.send(frame);
      });
    const first = await once({
      type: 'response.create',
      model: 'sim',
      tools: TOOLS,
      store: false,
      input: [{ role: 'user', content: 'read notes.txt' }],
    });
    const [call] = callsOf(first);
    const second = await once({
      type: 'response.create',
      model: 'sim',
      tools: TOOLS,
      store: false,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'a note' }],
    });
    const text = second.output.flatMap((item) => (item.type === 'message' ? item.content : []));
    expect(JSON.stringify(text)).toContain('a note');
    socket.close();
  });

  it('gets a JSON answer, its output_text and its usage', async () => {
    const response = await openai.responses.create({ model: 'sim', input: 'say something' });
    expect(response.status).toBe('completed');
    expect(response.output_text).toContain('say something');
    expect(response.usage?.total_tokens).toBe(
      (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
    );
  });

  it('takes a search for tools, its output, and the report of a tool that was dropped', async () => {
    const searched: Tool[] = [
      { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } },
      { type: 'web_search' },
    ];
    const request = { model: 'sim', tools: searched } as const;
    const first = await openai.responses
      .stream({ ...request, input: 'use read_file [sim calls=2]' })
      .finalResponse();
    expect(first).toMatchObject({ turnpike: { dropped_tools: ['web_search'] } });
    const call = first.output.find((item) => item.type === 'tool_search_call');
    expect(call).toMatchObject({ execution: 'client', arguments: {}, status: 'completed' });
    const second = await openai.responses
      .stream({
        ...request,
        previous_response_id: first.id,
        input: [
          { type: 'tool_search_output', call_id: call?.call_id ?? '', execution: 'client', tools: TOOLS },
        ],
      })
      .finalResponse();
    expect(callsOf(second).map(({ name }) => name)).toEqual(['read_file']);
  });

  it('gets structured output', async () => {
    const response = await openai.responses.create({
      model: 'sim',
      input: 'a made-up person',
      text: {
        format: {
          type: 'json_schema',
          name: 'person',
          strict: true,
          schema: {
            type: 'object',
            properties: { name: { type: 'string' }, age: { type: 'integer' } },
            required: ['name', 'age'],
            additionalProperties: false,
          },
        },
      },
    });
    const person = JSON.parse(response.output_text) as { name: unknown; age: unknown };
    expect(typeof person.name).toBe('string');
    expect(Number.isInteger(person.age)).toBe(true);
  });

  it('gets an error it understands', async () => {
    await expect(openai.responses.create({ model: 'nope', input: 'x' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
  });

  it('lists models', async () => {
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(['sim']);
  });
});
