import type { BackgroundJob } from '@turnpike/background';
import type { ResponseNode } from '@turnpike/conversation';
import type { Item } from '@turnpike/protocol';
import { overNode } from '../turn/commit.js';
import type { FinalEnding } from '../turn/ending.js';

/** Items that a job's request brought, as they were accepted. */
export function inputOf(request: string): Item[] {
  return (JSON.parse(request) as { input: Item[] }).input;
}

/** The response of a job that ends without having made anything. */
export function endedBeforeAnything(
  { tenant, request, response }: Omit<BackgroundJob, 'key'>,
  ending: FinalEnding,
): ResponseNode {
  const error = ending.status === 'failed' ? { code: ending.code, message: ending.message } : null;
  return overNode({
    response: { ...response, status: ending.status, error },
    tenant,
    input: inputOf(request).map((item) => ({ item })),
  });
}
