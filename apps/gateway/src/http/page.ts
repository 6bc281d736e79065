import { ApiError, quotable } from '@turnpike/protocol';

/** A cursor page, as clients ask for it. Source of names, range and defaults: OpenAI's list endpoints. */
export interface PageQuery {
  /** Most entries of the page. */
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Id of the entry before the first one of the page, in the page's order. */
  readonly after: string | undefined;
}

export interface Page<Entry> {
  readonly object: 'list';
  readonly data: readonly Entry[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
/** No id has them, and not every database can be asked for them. */
const CONTROLS = /\p{Cc}/u;

/** @throws ApiError invalid_value naming `limit`, `order` or `after` */
export function parsePageQuery(query: Readonly<Record<string, unknown>>): PageQuery {
  const { limit = String(DEFAULT_LIMIT), order = 'desc', after } = query;
  if (typeof limit !== 'string' || !/^\d{1,3}$/.test(limit) || +limit < 1 || +limit > MAX_LIMIT) {
    throw invalid('limit', `must be an integer from 1 to ${MAX_LIMIT}`);
  }
  if (order !== 'asc' && order !== 'desc') throw invalid('order', "must be 'asc' or 'desc'");
  if (after !== undefined && (typeof after !== 'string' || CONTROLS.test(after))) {
    throw invalid('after', 'must be one id');
  }
  return { limit: Number(limit), order, after };
}

/**
 * @param entries in ascending order, with unique ids
 * @throws ApiError invalid_value when `after` is none of them
 */
export function pageOf<Entry extends { readonly id?: string | undefined }>(
  entries: readonly Entry[],
  { limit, order, after }: PageQuery,
): Page<Entry> {
  const ordered = order === 'asc' ? entries : entries.toReversed();
  const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && before === -1) throw unknownCursor(after);
  const end = before + 1 + limit;
  return pageFrom(ordered.slice(before + 1, end), end < ordered.length);
}

/** @param data the entries of the page, in its order */
export function pageFrom<Entry extends { readonly id?: string | undefined }>(
  data: readonly Entry[],
  hasMore: boolean,
): Page<Entry> {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** @returns ApiError invalid_value for an `after` that is no entry of the list */
export function unknownCursor(after = ''): ApiError {
  return invalid('after', `must be the id of an entry of this list, and '${quotable(after)}' is none`);
}

function invalid(param: string, reason: string): ApiError {
  return new ApiError('invalid_value', { param, message: `'${param}' ${reason}.` });
}
