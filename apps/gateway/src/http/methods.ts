/** What each address takes, `/v1` optional. A test asks the running server whether that is so. */
const METHODS: readonly (readonly [path: RegExp, methods: readonly string[]])[] = [
  [/^\/responses$/, ['GET', 'POST']],
  [/^\/responses\/input_tokens$/, ['POST']],
  [/^\/responses\/compact$/, ['POST']],
  [/^\/responses\/[^/]+$/, ['GET', 'DELETE']],
  [/^\/responses\/[^/]+\/input_items$/, ['GET']],
  [/^\/conversations$/, ['POST']],
  [/^\/conversations\/[^/]+$/, ['GET', 'POST', 'DELETE']],
  [/^\/conversations\/[^/]+\/items$/, ['GET', 'POST']],
  [/^\/conversations\/[^/]+\/items\/[^/]+$/, ['GET', 'DELETE']],
  [/^\/responses\/[^/]+\/cancel$/, ['POST']],
  [/^\/models(?:\/.+)?$/, ['GET']],
  [/^\/admin\/v1\/(?:tenants|keys|budgets)$/, ['GET', 'POST']],
  [/^\/admin\/v1\/keys\/[^/]+$/, ['GET', 'POST']],
  [/^\/admin\/v1\/keys\/[^/]+\/(?:rotate|revoke)$/, ['POST']],
  [/^\/admin\/v1\/budgets\/[^/]+$/, ['DELETE']],
];

/** Methods that a path takes; undefined where there is nothing. */
export function methodsOf(path: string): readonly string[] | undefined {
  if (path === '/health') return ['GET'];
  const bare = path.replace(/^\/v1(?=\/)/, '').replace(/\/$/, '');
  return METHODS.find(([pattern]) => pattern.test(bare))?.[1];
}
