export { ResponseAssembler, type AssembledItem, type AssemblerOptions, type Ending } from './assembler.js';
export { queuedEvents, terminalEvent } from './lifecycle-events.js';
