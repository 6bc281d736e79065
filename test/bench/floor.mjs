// The floor: the least a WebSocket in front of an engine can do. It appends the ids the client sends to the prompt,
// passes the prompt to the engine and passes the engine's text back, one frame a chunk. No validation, no rendering,
// no parsing of the model's format, no response objects, no state beyond the prompt's bytes.
import { createServer } from 'node:http';
import { Agent, request } from 'undici';
import { WebSocketServer } from 'ws';

const engineUrl = process.argv[2];
const agent = new Agent({ keepAliveTimeout: 4_000 });
const server = createServer();
const sockets = new WebSocketServer({ server, maxPayload: 64 * 1024 * 1024, perMessageDeflate: false });

sockets.on('connection', (socket) => {
  const prompt = [];
  socket.on('message', async (data) => {
    const { ids, stop } = JSON.parse(data);
    prompt.push(Buffer.from(`${prompt.length === 0 ? '' : ','}${ids.join(',')}`));
    const head = JSON.stringify({
      model: 'sim',
      max_tokens: 100_000,
      stop_token_ids: stop,
      stream: true,
      stream_options: { include_usage: true },
      return_token_ids: true,
      skip_special_tokens: false,
    });
    const body = Buffer.concat([
      Buffer.from(`${head.slice(0, -1)},"prompt":[`),
      ...prompt,
      Buffer.from(']}'),
    ]);
    const answer = await request(`${engineUrl}/v1/completions`, {
      method: 'POST',
      dispatcher: agent,
      headers: { 'content-type': 'application/json' },
      body,
    });
    let rest = '';
    for await (const chunk of answer.body) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
        const event = JSON.parse(line.slice(6));
        const sampled = event.choices?.[0]?.token_ids ?? [];
        if (sampled.length > 0) prompt.push(Buffer.from(`,${sampled.join(',')}`));
        socket.send(JSON.stringify({ text: event.choices?.[0]?.text ?? '', usage: event.usage ?? null }));
      }
    }
    socket.send('{"done":true}');
  });
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`floor ready on http://127.0.0.1:${server.address().port}\n`);
});
