export { ResponseAssembler, type AssembledItem, type Ending } from './assembler.js';
