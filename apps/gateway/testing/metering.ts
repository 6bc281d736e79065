import { DEFAULT_PRICES, Meter, type MeterOptions, type UsageRecord } from '@turnpike/metering';
import { HoldStage } from '../src/billing/hold.stage.js';
import type { MeteredTurns } from '../src/billing/billing.js';
import type { SamplingMeter } from '../src/billing/turn-money.js';

/** A meter whose journal is a list. */
export function memoryMeter(options: Partial<MeterOptions> = {}) {
  const turns: MeteredTurns = new Map();
  const records: UsageRecord[] = [];
  let sequence = 0;
  const meter = new Meter({
    turns,
    journal: {
      isFull: false,
      admit: () => ++sequence,
      progress: () => ++sequence > 0,
      settle: (record) => {
        const complete = { ...record, journal: 'memory', settleSequence: ++sequence };
        records.push(complete);
        return complete;
      },
    },
    prices: DEFAULT_PRICES,
    progressTokens: 128,
    holdOutputTokens: 4_096,
    ...options,
  });
  return { meter, records, hold: new HoldStage(turns) };
}

/** For sampling that nobody pays for. */
export const UNMETERED: SamplingMeter = {
  isExhausted: false,
  requested: () => undefined,
  take: () => undefined,
  counted: () => undefined,
  clamped: () => undefined,
  finished: () => undefined,
};
