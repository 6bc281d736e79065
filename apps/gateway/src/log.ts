export { log, shownError, type ShownError } from '@turnpike/telemetry';
