import { randomBytes } from 'node:crypto';

/** Prefix of each kind of id on the wire. */
export const ID_PREFIX = {
  response: 'resp',
  conversation: 'conv',
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  additional_tools: 'at',
  compaction: 'cmp',
  steer: 'steer',
  call: 'call',
  request: 'req',
} as const;

const BYTES = 24;
/** Random bytes are drawn in blocks: a system call per id would cost more than the id. */
const POOL_IDS = 64;
let pool = Buffer.alloc(0);
let offset = 0;

/** A new id that no one can guess: prefix, `_`, 48 hexadecimal digits (192 bits). */
export function mintId(kind: keyof typeof ID_PREFIX): string {
  if (offset + BYTES > pool.length) {
    pool = randomBytes(BYTES * POOL_IDS);
    offset = 0;
  }
  const id = pool.toString('hex', offset, offset + BYTES);
  offset += BYTES;
  return `${ID_PREFIX[kind]}_${id}`;
}
