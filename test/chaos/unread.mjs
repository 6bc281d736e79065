// What a gateway had read of its engine's answers when it was killed: the engine knows which bytes hold which tokens, the
// operating system how many bytes nobody has read.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { responseOf } from './compare.mjs';

/**
 * Stops a gateway where it is, and finds out how many tokens it has read of each response. It reads nothing more: the next
 * thing that happens to it is `kill -9`. Linux alone tells.
 * @returns tokens by response id, of those whose connection is open
 */
export async function stopAndMeasure(gateway, engineUrl) {
  await stop(gateway);
  const enginePort = Number(new URL(engineUrl).port);
  const written = async () => await (await fetch(`${engineUrl}/debug/writes`)).json();
  const read = new Map();
  let before = await written();
  for (;;) {
    const unread = unreadBytes(gateway.pid, enginePort);
    const after = new Map((await written()).map((each) => [each.request_id, each]));
    const open = before.filter(({ request_id, port }) => unread.has(port) && !read.has(request_id));
    for (const { request_id, bytes } of open) {
      const answer = after.get(request_id);
      // What was written between the two looks may or may not be among what nobody has read.
      if (answer?.bytes !== bytes) continue;
      read.set(request_id, tokensIn(answer, bytes - unread.get(answer.port)));
    }
    before = open.flatMap(({ request_id }) => after.get(request_id) ?? []);
    if (before.every(({ request_id }) => read.has(request_id))) break;
  }
  const byResponse = new Map();
  for (const [name, tokens] of read) {
    const id = responseOf(name);
    byResponse.set(id, (byResponse.get(id) ?? 0) + tokens);
  }
  return byResponse;
}

async function stop({ pid }) {
  process.kill(pid, 'SIGSTOP');
  while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))) await turn();
}

/** Tokens of which the first so many bytes of the connection hold all. */
function tokensIn({ writes }, bytes) {
  return writes.findLast(([end]) => end <= bytes)?.[1] ?? 0;
}

/** Bytes that have arrived and were not read, by the local port of a process's connections to this port. */
function unreadBytes(pid, remotePort) {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode === undefined ? [] : [inode];
    }),
  );
  const unread = new Map();
  for (const line of readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = '', , , , , inode = ''] = line.trim().split(/\s+/);
    const portOf = (address) => parseInt(address.split(':')[1] ?? '', 16);
    if (portOf(remote) === remotePort && own.has(inode))
      unread.set(portOf(local), parseInt(queues.split(':')[1] ?? '', 16));
  }
  return unread;
}
