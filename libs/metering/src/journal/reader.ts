import { LogReader, type LogBatch, type LogFault, type LogReaderOptions } from '@turnpike/append-log';
import { parseUsageRecord } from '../parse-record.js';
import type { UsageRecord } from '../usage-record.js';

export type JournalBatch = LogBatch<UsageRecord>;
export type JournalFault = LogFault;

/** Reads the settlements of a journal. */
export class JournalReader extends LogReader<UsageRecord> {
  constructor(folder: string, options: Omit<LogReaderOptions<UsageRecord>, 'parse'>) {
    super(folder, {
      ...options,
      parse: ({ kind, body }) =>
        kind === 'settle' ? parseUsageRecord((JSON.parse(body) as { record: unknown }).record) : undefined,
    });
  }
}
