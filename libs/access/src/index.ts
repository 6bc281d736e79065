export { KeyRing, OPEN_PRINCIPAL, type HashedKey, type Principal } from './key-ring.js';
