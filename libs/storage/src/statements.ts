/** Rows of one insert. SQLite takes 32,766 parameters a statement; and between two inserts others get their turn. */
export const INSERT_ROWS = 500;
/** Ids that can be looked up. Anything else was never minted here; Postgres refuses some of it. */
export const ID = /^[\x21-\x7e]{1,256}$/;
