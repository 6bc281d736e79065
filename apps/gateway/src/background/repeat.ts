export interface Repeated {
  /** Resolves when the task does not run any more. */
  stop(): Promise<void>;
}

/**
 * Does something at once and then now and again, never twice at a time; keeps no process alive.
 * @param onFailure called for the first of failures that follow each other
 */
export function repeat(
  everyMs: number,
  task: () => Promise<void>,
  onFailure: (thrown: unknown) => void,
): Repeated {
  let running: Promise<void> | undefined;
  let isFailing = false;
  const once = async () => {
    try {
      await task();
      isFailing = false;
    } catch (thrown) {
      if (!isFailing) onFailure(thrown);
      isFailing = true;
    }
    running = undefined;
  };
  const start = () => {
    running ??= once();
  };
  start();
  const timer = setInterval(start, everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
