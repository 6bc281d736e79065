/** Turns of one kind that were cut off, and the tokens that their gateways had read beyond what was billed of them. */
export interface CutTurns {
  readonly turns: number;
  readonly tokens: number;
  /** Of one turn. */
  readonly most: number;
}

/** What a run came to. */
export interface ChaosReport {
  readonly turns: number;
  readonly seed: number;
  readonly kills: Readonly<Record<'gateway' | 'worker' | 'redis' | 'postgres', number>>;
  /** Responses that an engine was asked for. */
  readonly responses: number;
  /** Tokens: by the engine's own count, and by the ledger. */
  readonly produced: number;
  readonly billed: number;
  /** Responses of which both counts are the same. */
  readonly exact: number;
  /** Cut off by their client, by a cancel or by a disconnect; billed to the token. */
  readonly cut: CutTurns;
  /** Cut off by the death of their gateway, and settled from what it had written down. */
  readonly lostGateways: CutTurns & {
    /** Tokens that the engine wrote and their gateway never read, on top. */
    readonly unread: number;
    /** Those that their gateway was at when it was killed. */
    readonly inHand: number;
  };
  /** Turns whose gateway lived and did not bring them to an end. */
  readonly silent: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Responses with `store: true` that a client was told of, and that are stored. */
  readonly stored: number;
  readonly lost: number;
  readonly double: number;
  readonly unexplained: number;
  readonly details: readonly string[];
}

/** Runs so many turns under faults; the apps have to be built. @throws Error when a service cannot be brought up */
export function runChaos(options: {
  readonly turns: number;
  readonly seed?: number;
  readonly say?: (line: string) => void;
}): Promise<ChaosReport>;
