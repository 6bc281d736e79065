import { EventEmitter } from 'node:events';

export interface Change {
  /** Resolves when something has become of the response, or it is time to look anyway. */
  readonly happened: Promise<void>;
  /** Waits no longer. */
  forget(): void;
}

/** Tells those who wait for a response of this process that something has become of it. */
export class Changes {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  changed(id: string): void {
    this.#emitter.emit(id);
  }

  /**
   * The next change. To be called before one looks, so that nothing comes in between. What happens to a response in another
   * process is not heard of here: for that one looks again after `mostMs`.
   * @param gone ends the wait as well
   */
  next(id: string, mostMs: number, gone?: AbortSignal): Change {
    let forget = (): void => undefined;
    const happened = new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#emitter.off(id, done);
        gone?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, mostMs);
      this.#emitter.once(id, done);
      gone?.addEventListener('abort', done);
      forget = done;
    });
    return { happened, forget };
  }
}
