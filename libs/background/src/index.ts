export type {
  BackgroundJob,
  BackgroundJobs,
  ClaimedJob,
  EventBatch,
  ExpiredJob,
  Holder,
  JobState,
  NewJob,
  UnfinishedJob,
} from './background-jobs.js';
export { MemoryBackgroundJobs } from './memory-background-jobs.js';
