export type DatabaseKind = 'sqlite' | 'postgres';

/** Token ids as bytes: what goes in, and what the drivers give back. */
export type IdBytes = Uint8Array | ArrayBuffer;

/**
 * One response. What it added to the chain is in {@link ItemRow} and {@link ArtifactRow}; its ancestors are found by
 * `parent_id`.
 */
export interface ResponseRow {
  id: string;
  tenant: string;
  /** Also set when the parent was never stored, and so is not to be found. */
  parent_id: string | null;
  /** Number of ancestors. */
  depth: number;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** From then on (ms) the response is not found any more. It goes once nothing that is found continues it. */
  expires_at: number;
  /** Memory it takes when it has been read, as {@link ChainNode.ownBytes}. */
  own_bytes: number;
  /** The public response as JSON, without its output. */
  body: string;
}

/** One item that a response added to the chain. */
export interface ItemRow {
  response_id: string;
  /** From 0, input before output. */
  position: number;
  /** 0 or 1. */
  is_output: number;
  /** The item's own id, by which clients refer to it; null for one that cannot be looked up. */
  item_id: string | null;
  /** The item as JSON. */
  body: string;
  /** Format and ids it was sampled in. */
  format: string | null;
  ids: IdBytes | null;
  /** What a sealed item stands for, as JSON. */
  expansion: string | null;
}

/** What a turn made of a stage's artifact, see {@link ArtifactCodec}. */
export interface ArtifactRow {
  response_id: string;
  stage: string;
  version: number;
  /** 0 or 1: whether it says everything, or what changed from the parent's. */
  complete: number;
  /** JSON. */
  state: string;
  ids: IdBytes;
}

/** One conversation. Its items are {@link ConversationItemRow}. */
export interface ConversationRow {
  id: string;
  tenant: string;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Set from the moment (ms) it is not found any more; its rows go after that. */
  deleted_at: number | null;
  /** JSON. */
  metadata: string;
  /** Counts the changes of its items. */
  version: number;
  /** Of the next item. Positions are never used twice. */
  next_position: number;
  /** The response that holds all items up to position `head_end`. */
  head_id: string | null;
  /** -1 without a head. */
  head_end: number;
}

/** One item of a conversation. */
export interface ConversationItemRow {
  conversation_id: string;
  /** Ascending, with gaps where items were taken out. */
  position: number;
  /** The item's own id. */
  item_id: string;
  /** The item as JSON. */
  body: string;
  /** Format and ids it was sampled in. */
  format: string | null;
  ids: IdBytes | null;
  /** What a sealed item stands for, as JSON. */
  expansion: string | null;
}

/** A background response from its acceptance on, see {@link BackgroundJobs}. */
export interface BackgroundJobRow {
  response_id: string;
  tenant: string;
  /** Id of the key that it is accounted to; null for one accepted before keys were written down. */
  key_id: string | null;
  /** `queued`, `in_progress` or `ended`. */
  status: string;
  /** Place in the queue, lower first; two of one place are in the order of their ids. */
  position: number;
  /** Who runs it, and until when (ms since the epoch by the database's clock) without being heard of. */
  runner: string | null;
  lease_until: number | null;
  /** 0 or 1. */
  cancel_requested: number;
  /** Events that are kept of it; null when it cannot be streamed. */
  events: number | null;
  /** Body of the request, and the response as it was accepted, as JSON; null when it has ended. */
  request: string | null;
  response: string | null;
  /** From then on (ms) the row is not needed any more, if it has ended. */
  expires_at: number;
}

/** Events of a background response that follow each other. */
export interface BackgroundEventsRow {
  response_id: string;
  /** Sequence number of the first. */
  first: number;
  /** JSON texts, one a line. */
  lines: string;
}

/** Tables of the store. */
export interface StoreSchema {
  conversations: ConversationRow;
  conversation_items: ConversationItemRow;
  responses: ResponseRow;
  items: ItemRow;
  artifacts: ArtifactRow;
  background_jobs: BackgroundJobRow;
  background_events: BackgroundEventsRow;
}
