/** Injection tokens of values that have no class of their own. */
export const CONFIG = Symbol('Config');
export const ROUTER = Symbol('RouterStrategy');
export const STORE = Symbol('ResponseStore');
export const CONVERSATIONS = Symbol('ConversationStore');
export const STORES = Symbol('Stores');
export const STAGE_LIST = Symbol('StageList');
