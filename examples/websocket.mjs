// One turn over a bare WebSocket: prints the type of each event, and the text as it comes.
import { WebSocket } from 'ws';

const url = process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:8686/v1';
const socket = new WebSocket(`${url.replace('http', 'ws')}/responses`);
const input = process.argv[2] ?? 'hello there';

socket.on('open', () =>
  socket.send(JSON.stringify({ type: 'response.create', model: 'sim', input, reasoning: { effort: 'low' } })),
);
socket.on('error', ({ message }) => {
  console.error(`${url}: ${message}`);
  process.exitCode = 1;
});
socket.on('message', (data) => {
  const { type, delta = '' } = JSON.parse(data);
  console.log(type, delta);
  if (type === 'response.completed') socket.close();
});
