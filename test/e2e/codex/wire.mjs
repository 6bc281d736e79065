// A proxy between Codex and the gateway that keeps what is said, and can cut the line.
import { createServer, request } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';

/** Headers that belong to one connection: the next has its own. */
const OF_CONNECTION =
  /^(connection|upgrade|host|keep-alive|transfer-encoding|content-length|sec-websocket-.*)$/;

const acceptor = new WebSocketServer({ noServer: true, perMessageDeflate: false });

export class Wire {
  #target;
  #server;
  #cuts = new Set();
  url = '';
  /** Every `response.create` over WebSocket: its `frame`, the number of its `socket`, the `events` that answered it. */
  creates = [];
  /** Other frames that Codex sent. */
  controls = [];
  /** Bodies of HTTP requests for a response. */
  posts = [];
  /** Statuses of refused upgrades. */
  refused = [];
  /** How many WebSockets there were. */
  sockets = 0;
  /** Asked about every event before Codex gets it; true cuts the line instead. */
  cutsAt = () => false;

  /** @param target base URL of the gateway, without a path */
  static async start(target) {
    const wire = new Wire();
    wire.#target = target;
    wire.#server = createServer((incoming, outgoing) => wire.#forward(incoming, outgoing));
    wire.#server.on('upgrade', (...upgrade) => wire.#join(...upgrade));
    await new Promise((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    wire.url = `http://127.0.0.1:${wire.#server.address().port}`;
    return wire;
  }

  /** Ends every WebSocket on both sides without a close frame, as a network that goes away does. */
  cut() {
    for (const cut of this.#cuts) cut();
  }

  async stop() {
    this.cut();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(incoming, outgoing) {
    const parts = [];
    incoming.on('data', (part) => parts.push(part));
    incoming.on('end', () => {
      const body = Buffer.concat(parts);
      if (incoming.method === 'POST') this.posts.push(JSON.parse(body.toString()));
      const headers = { ...onward(incoming.headers), 'content-length': body.length };
      const inner = request(this.#target + incoming.url, { method: incoming.method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
      });
      inner.on('error', () => outgoing.destroy());
      outgoing.on('close', () => inner.destroy());
      inner.end(body);
    });
  }

  #join(incoming, socket, head) {
    const url = this.#target.replace('http', 'ws') + incoming.url;
    const inner = new WebSocket(url, { headers: onward(incoming.headers), perMessageDeflate: false });
    socket.on('error', () => inner.terminate());
    inner.on('error', () => socket.destroy());
    inner.on('unexpected-response', (_, answer) => {
      this.refused.push(answer.statusCode);
      const { 'content-type': type, 'content-length': length } = answer.headers;
      socket.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\nconnection: close\r\n`);
      socket.write(`content-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`);
      answer.pipe(socket);
    });
    inner.on('open', () => {
      acceptor.handleUpgrade(incoming, socket, head, (outer) => this.#relay(inner, outer));
    });
  }

  #relay(inner, outer) {
    const socket = ++this.sockets;
    const waiting = [];
    const cut = () => {
      outer.terminate();
      inner.terminate();
    };
    this.#cuts.add(cut);
    outer.on('message', (data) => {
      const frame = JSON.parse(data.toString());
      if (frame.type === 'response.create') {
        const create = { socket, frame, events: [] };
        this.creates.push(create);
        waiting.push(create);
      } else this.controls.push({ socket, frame });
      inner.send(data.toString());
    });
    inner.on('message', (data) => {
      const event = JSON.parse(data.toString());
      if (this.cutsAt(event)) return cut();
      waiting[0]?.events.push(event);
      if (isTerminal(event)) waiting.shift();
      outer.send(data.toString());
    });
    // Codex never says goodbye, and the gateway is not to hear that it does.
    outer.on('close', () => inner.terminate());
    inner.on('close', (code) => (code === 1006 ? outer.terminate() : outer.close(code)));
  }
}

function isTerminal({ type }) {
  return type === 'error' || /^response\.(completed|incomplete|failed)$/.test(type);
}

function onward(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.test(name)));
}
