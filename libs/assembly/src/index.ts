export { ResponseAssembler, type AssembledItem, type AssemblerOptions, type Ending } from './assembler.js';
