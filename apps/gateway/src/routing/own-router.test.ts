import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiError } from '@turnpike/protocol';
import type { Route, RouteQuery, RouterStrategy } from '@turnpike/routing';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configSchema } from '../config/schema.js';
import { createGateway } from '../start.js';
import { ROUTER } from '../tokens.js';
import { ModelCatalogue } from './model-catalogue.js';

/** The example of docs/routing.md. */
class ReservedRouter implements RouterStrategy {
  constructor(private readonly router: RouterStrategy) {}

  resolve(model: string, query: RouteQuery): Route {
    if (model === 'large' && query.tenant !== 'research') {
      throw new ApiError('model_not_found', { param: 'model' });
    }
    return this.router.resolve(model, query);
  }

  isCurrent(route: Route): boolean {
    return this.router.isCurrent(route);
  }

  models(): readonly string[] {
    return this.router.models().filter((model) => model !== 'large');
  }

  alternative(failed: Route, query: RouteQuery): Route | undefined {
    return this.router.alternative?.(failed, query);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'turnpike-router-'));
const keyOf = (tenant: string) => ({
  name: tenant,
  tenant,
  sha256: createHash('sha256').update(tenant).digest('hex'),
});
let app: NestExpressApplication;

beforeAll(async () => {
  const config = configSchema.parse({
    log: 'silent',
    store: { kind: 'memory' },
    sealingKeyFile: join(folder, 'sealing.key'),
    keys: ['research', 'others'].map(keyOf),
    engines: { e: { url: 'http://127.0.0.1:1', kind: 'vllm' } },
    models: { small: { engine: 'e' }, large: { engine: 'e' } },
  });
  const own = {
    provide: ROUTER,
    inject: [ModelCatalogue],
    useFactory: ({ router }: ModelCatalogue) => new ReservedRouter(router),
  };
  app = await createGateway(config, [own]);
  await app.listen(0, '127.0.0.1');
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

async function ask(tenant: string, path: string, body?: unknown) {
  const answer = await fetch(`${await app.getUrl()}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${tenant}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

it('a router of one’s own decides for every way to a model', async () => {
  const count = (tenant: string) =>
    ask(tenant, '/responses/input_tokens', { model: 'large', input: 'hello' });
  expect(await count('others')).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
  expect(await count('research')).toMatchObject({ status: 200 });
  expect((await ask('others', '/models')).body).toMatchObject({ data: [{ id: 'small' }] });
});
