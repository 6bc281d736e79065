/** A service that was started, or one that runs and was lent. */
export interface Service {
  /** Where its files are; undefined for one that runs elsewhere. */
  readonly folder: string | undefined;
  /** Starts it again on the same files. @throws Error for one that is not ours */
  start(): Promise<void>;
  /** Ends it in an orderly way. @throws Error for one that is not ours */
  stop(): Promise<void>;
  /** Ends it at once, as a crash would. @throws Error for one that is not ours */
  kill(): Promise<void>;
  /** Ends it, and everything that it kept is gone. One that is not ours is left as it was found. */
  remove(): Promise<void>;
}

export interface RedisService extends Service {
  readonly url: string;
}

export interface PostgresService extends Service {
  /** URL of a new, empty database. */
  database(): Promise<string>;
  /** It hangs: connections stay open, and nothing is answered. @throws Error for one that is not ours */
  pause(): void;
  /** Goes on where it was. @throws Error for one that is not ours */
  resume(): void;
}

export interface ServiceOptions {
  /** A server of one's own, which can be ended and started again and whose files can be read. */
  readonly own?: boolean;
}

/** @throws Error saying what helps where there is no Redis and none can be installed */
export function startRedis(options?: ServiceOptions): Promise<RedisService>;
/** @throws Error saying what helps where there is no Postgres and none can be installed */
export function startPostgres(options?: ServiceOptions): Promise<PostgresService>;

/** Answers of a machine, for tests. */
export interface Machine {
  folders(service: string): readonly string[];
  has(file: string): boolean;
  mayInstall(): boolean;
  /** @returns what went wrong, empty if nothing did */
  install(packageName: string): string;
  docker(): boolean;
}

/** Where a service comes from. @throws Error saying what helps */
export function locate(
  name: 'redis' | 'postgres',
  options?: ServiceOptions & { environment?: Record<string, string | undefined>; machine?: Machine },
): { url: string } | { folder: string } | { image: string };
