export { openDatabase, type DatabaseTarget } from './database.js';
export { migrate, type Migration, type SchemaHistory } from './migrations.js';
export type { DatabaseKind, StoreSchema } from './schema.js';
export type { Codecs } from './rows.js';
export { SqlResponseStore, type Admit, type SqlStoreOptions } from './sql-response-store.js';
export { SqlConversationStore } from './sql-conversation-store.js';
export { CachedResponseStore, type CachedStoreOptions, type StoreFailure } from './cached-response-store.js';
export { SqlBackgroundJobs, type SqlBackgroundOptions } from './sql-background-jobs.js';
export { Sweeper } from './sweeper.js';
