import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configSchema } from '../../../apps/gateway/src/config/schema.js';
import { createGateway } from '../../../apps/gateway/src/start.js';

/** An entry of Express's own list. */
interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
}

/** Every route that the gateway serves, without `/v1`, as in `GET /responses/{id}`. */
export async function routes(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-routes-'));
  const sealingKeyFile = join(folder, 'sealing.key');
  const app = await createGateway(configSchema.parse({ store: { kind: 'memory' }, sealingKeyFile }));
  await app.init();
  const { router } = app.getHttpAdapter().getInstance() as unknown as { router: { stack: Layer[] } };
  const served = router.stack.flatMap(({ route }) => {
    if (route === undefined) return [];
    const path = route.path.replace(/^\/v1(?=\/)/, '').replace(/[:*]\w+/g, '{id}');
    return Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${path}`);
  });
  await app.close();
  rmSync(folder, { recursive: true });
  return [...new Set(served)];
}
