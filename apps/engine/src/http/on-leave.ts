import { type ServerResponse } from 'node:http';

/**
 * Calls back once a client can be given nothing more: its answer is over, or it has closed its side of the connection. In
 * the second case what was written before still reaches it, and nothing that is generated later would.
 */
export function onLeave(response: ServerResponse, leave: () => void): void {
  const { socket } = response;
  socket?.once('end', leave);
  response.once('close', () => {
    socket?.removeListener('end', leave);
    leave();
  });
}
