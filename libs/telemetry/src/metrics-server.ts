import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/**
 * Serves metrics for Prometheus at `/metrics`, on a port of its own: what they tell of all tenants together is not for
 * whoever reaches the API.
 */
export class MetricsServer {
  readonly #server: Server;

  constructor(registry: Registry) {
    this.#server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    });
  }

  /**
   * @param port 0 chooses a free one
   * @returns the port listened on
   * @throws Error when the address cannot be used
   */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Ends every connection: a scrape has nothing to finish that the next one would not bring. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
