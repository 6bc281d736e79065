/** Whether there is a queue to look at. */
export const HAS_QUEUE = Symbol('HasQueue');
export const SETTINGS = Symbol('Settings');
export const DATABASE = Symbol('Database');
