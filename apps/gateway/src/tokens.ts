/** Injection tokens of values that have no class of their own. */
export const CONFIG = Symbol('Config');
export const ROUTER = Symbol('RouterStrategy');
export const BACKGROUND_JOBS = Symbol('BackgroundJobs');
/** Everything that is kept in one place, and closed together. */
export const STORES = Symbol('Stores');
export const STORE = Symbol('ResponseStore');
/** Undefined where there is no database to keep keys in. */
export const ACCESS_ADMIN = Symbol('AccessAdmin');
export const CONVERSATIONS = Symbol('ConversationStore');
/** What turns are metered with, and what they cost. */
export const METER = Symbol('Meter');
/** The turns that run, by response id: what finds them needs nothing of what is behind the meter. */
export const METERED_TURNS = Symbol('MeteredTurns');
export const PRICES = Symbol('PriceBook');
export const STAGE_LIST = Symbol('StageList');
