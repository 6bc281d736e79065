// What is known to stall servers of this kind. As a program: sends attack number N to a WebSocket URL when told to.
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';

const MEGABYTE = 1_000_000;

const create = (input) => JSON.stringify({ type: 'response.create', model: 'sim', generate: false, input });
const repeat = (count, send) => {
  for (let index = 0; index < count; index++) send();
};

/** Name, and what is sent. */
export const ATTACKS = [
  ['none', () => undefined],
  ["1 MB of 'a'", (socket) => socket.send(create('a'.repeat(MEGABYTE)))],
  ['1 MB of spaces', (socket) => socket.send(create(' '.repeat(MEGABYTE)))],
  ["1 MB of '^'", (socket) => socket.send(create('^'.repeat(MEGABYTE)))],
  ['1 MB of newlines', (socket) => socket.send(create('\n'.repeat(MEGABYTE)))],
  ['1 MB of emoji', (socket) => socket.send(create('😀'.repeat(MEGABYTE / 4)))],
  ['1 MB of Hangul', (socket) => socket.send(create('가'.repeat(MEGABYTE / 3)))],
  ['1 MB of brackets', (socket) => socket.send('['.repeat(MEGABYTE))],
  [
    '20,000 items',
    (socket) =>
      socket.send(create(Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'x y z' })))),
  ],
  ['10,000 bad frames', (socket) => repeat(10_000, () => socket.send('{"type":"nonsense"}'))],
  ['100,000 tiny fragments', (socket) => repeat(100_000, () => socket.send('x', { fin: false }))],
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, attack] = ATTACKS[Number(process.argv[3])];
  const socket = new WebSocket(process.argv[2], { perMessageDeflate: false });
  // A refused attack ends its connection; that is its answer.
  socket.on('error', () => undefined);
  socket.once('open', () => process.send('ready'));
  process.once('message', () => attack(socket));
}
