export { takeLeft, takeNew, type TakenFolder } from './folders.js';
export { lineOf, readLine, type LogLine } from './line.js';
export {
  LogReader,
  type LogBatch,
  type LogFault,
  type LogPosition,
  type LogReaderOptions,
} from './reader.js';
export { SegmentFile } from './segment-file.js';
export { firstSequenceOf, segmentsIn } from './segments.js';
export { LogWriter, type LogWriterOptions } from './writer.js';
