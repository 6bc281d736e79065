// What is known to stall servers of this kind. As a program: sends attack number N to a WebSocket URL when told to.
import { setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';

/** An attack is repeated, so that it lasts as long as it is watched. */
const REPEAT_MS = 1_000;

const MEGABYTE = 1_000_000;

const create = (input, fields = {}) =>
  JSON.stringify({ type: 'response.create', model: 'sim', generate: false, input, ...fields });
const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));
const tool = (index) => ({ type: 'function', name: `tool_${index}`, parameters: null });
const repeat = (count, send) => {
  for (let index = 0; index < count; index++) send();
};

/** Name, and what is sent. */
export const ATTACKS = [
  ['none', () => undefined],
  ["1 MB of 'a'", (socket) => socket.send(create('a'.repeat(MEGABYTE)))],
  [
    "8 lanes of 1 MB of 'a'",
    (socket) => many(8, (index) => socket.send(create('a'.repeat(MEGABYTE), { stream_id: `lane-${index}` }))),
  ],
  ["15 MB of 'a'", (socket) => socket.send(create('a'.repeat(15 * MEGABYTE)))],
  ['15 MB of words', (socket) => socket.send(create('some words '.repeat((15 * MEGABYTE) / 11)))],
  ['1 MB of spaces', (socket) => socket.send(create(' '.repeat(MEGABYTE)))],
  ["1 MB of '^'", (socket) => socket.send(create('^'.repeat(MEGABYTE)))],
  ['1 MB of newlines', (socket) => socket.send(create('\n'.repeat(MEGABYTE)))],
  ['1 MB of emoji', (socket) => socket.send(create('😀'.repeat(MEGABYTE / 4)))],
  ['1 MB of Hangul', (socket) => socket.send(create('가'.repeat(MEGABYTE / 3)))],
  ['1 MB of brackets', (socket) => socket.send('['.repeat(MEGABYTE))],
  ['20,000 items', (socket) => socket.send(create(many(20_000, () => ({ role: 'user', content: 'x y z' }))))],
  [
    '20,000 calls, then their outputs',
    (socket) =>
      socket.send(
        create([
          ...many(20_000, (index) => ({
            type: 'function_call',
            call_id: `call_${index}`,
            name: 'f',
            arguments: '{}',
          })),
          ...many(20_000, (index) => ({
            type: 'function_call_output',
            call_id: `call_${index}`,
            output: 'x',
          })),
        ]),
      ),
  ],
  ['100,000 tools', (socket) => socket.send(create('x', { tools: many(100_000, tool) }))],
  [
    '30,000 additional_tools items',
    (socket) =>
      socket.send(
        create(
          many(30_000, (index) => ({ type: 'additional_tools', role: 'developer', tools: [tool(index)] })),
        ),
      ),
  ],
  ['15 MB of empty objects', (socket) => socket.send(`[${'{},'.repeat(5 * MEGABYTE - 1)}{}]`)],
  ['10,000 bad frames', (socket) => repeat(10_000, () => socket.send('{"type":"nonsense"}'))],
  ['100,000 tiny fragments', (socket) => repeat(100_000, () => socket.send('x', { fin: false }))],
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, attack] = ATTACKS[Number(process.argv[3])];
  const socket = new WebSocket(process.argv[2], { perMessageDeflate: false });
  // A refused attack ends its connection; that is its answer.
  socket.on('error', () => undefined);
  socket.once('open', () => process.send('ready'));
  process.once('disconnect', () => process.exit());
  process.once('message', () => {
    attack(socket);
    setInterval(() => attack(socket), REPEAT_MS);
  });
}
