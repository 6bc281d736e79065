import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseCircuit } from './database-circuit.js';

describe('a circuit before a database', () => {
  let lives: boolean;
  let probes: number;
  let changes: boolean[];
  let circuit: DatabaseCircuit;
  beforeEach(() => {
    jest.useFakeTimers();
    [lives, probes, changes] = [true, 0, []];
    circuit = new DatabaseCircuit({
      probe: async (withinMs) => {
        probes++;
        if (lives) return;
        await new Promise((resolve) => setTimeout(resolve, withinMs));
        throw new Error('no sign of life');
      },
      onChange: (isDown) => changes.push(isDown),
    });
  });
  afterEach(() => {
    circuit.close();
    jest.useRealTimers();
  });

  const never = () => new Promise<void>(() => undefined);
  /** Waits for something as the driver does. */
  const ask = (answer: Promise<void>) =>
    circuit
      .watch(
        circuit.untilDown(answer, () => undefined),
        () => true,
      )
      .then(
        () => 'answered',
        (thrown: { code?: string }) => thrown.code,
      );

  it('goes down when an answer and a sign of life do not come, and everyone who waits is told', async () => {
    lives = false;
    const asked = [ask(never()), ask(never())];
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all(asked)).toEqual(['store_unavailable', 'store_unavailable']);
    expect(changes).toEqual([true]);
    expect(() => circuit.check()).toThrow(
      expect.objectContaining({ code: 'store_unavailable', status: 503 }),
    );
  });

  it('waits for a database that is slow', async () => {
    let answer = () => undefined as void;
    const asked = ask(new Promise((resolve) => (answer = resolve)));
    await jest.advanceTimersByTimeAsync(5_000);
    expect([circuit.isDown, probes > 0]).toEqual([false, true]);
    answer();
    expect(await asked).toBe('answered');
    await jest.advanceTimersByTimeAsync(5_000);
    expect(changes).toEqual([]);
  });

  it('takes any answer as a sign of life: it may have been this process that had no time', async () => {
    lives = false;
    const slow = ask(never());
    await jest.advanceTimersByTimeAsync(300);
    expect(await ask(Promise.resolve())).toBe('answered');
    await jest.advanceTimersByTimeAsync(240);
    expect([probes, circuit.isDown]).toEqual([1, false]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await slow).toBe('store_unavailable');
  });

  it('asks at once when a connection is lost', async () => {
    lives = false;
    expect(await ask(Promise.reject(new Error('connection refused')))).toBeUndefined();
    expect(probes).toBe(1);
  });

  it('gives what comes too late to who takes care of it', async () => {
    let answer = (_: string) => undefined as void;
    const late: string[] = [];
    const asked = circuit.untilDown(new Promise<string>((resolve) => (answer = resolve)), (value) =>
      late.push(value),
    );
    circuit.trip(new Error('down'));
    await expect(asked).rejects.toMatchObject({ code: 'store_unavailable' });
    answer('connection');
    await jest.advanceTimersByTimeAsync(0);
    expect(late).toEqual(['connection']);
  });

  it('is up again when the database lives and what has to be done before is done', async () => {
    let isDone = false;
    circuit.beforeUp(() => (isDone ? Promise.resolve() : Promise.reject(new Error('not yet'))));
    circuit.trip(new Error('down'));
    await jest.advanceTimersByTimeAsync(3_000);
    expect(changes).toEqual([true]);
    isDone = true;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(changes).toEqual([true, false]);
    circuit.check();
  });

  it('asks nothing more when it is closed', async () => {
    lives = false;
    circuit.trip(new Error('down'));
    circuit.close();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(probes).toBe(0);
  });
});
