import { createContext, Script } from 'node:vm';

const sandbox: { run: () => unknown } = { run: () => undefined };
const context = createContext(sandbox);
const script = new Script('run()');

/**
 * Runs an action and stops it, wherever it is, once it has taken `ms` milliseconds. Meant for work whose cost others
 * decide, such as regular expressions that backtrack: nothing else can interrupt those in the same thread.
 * @throws whatever the action throws, and an Error when its time is up
 */
export function withinTime<T>(ms: number, action: () => T): T {
  let result: { value: T } | undefined;
  sandbox.run = () => {
    result = { value: action() };
  };
  try {
    script.runInContext(context, { timeout: ms });
  } finally {
    sandbox.run = () => undefined;
  }
  if (result === undefined) throw new Error('the action ended without a result');
  return result.value;
}
