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
  tool_search_call: 'tsc',
  tool_search_output: 'tso',
  configuration_update: 'cfg',
  shell_call: 'sh',
  shell_call_output: 'sho',
  local_shell_call: 'lsh',
  local_shell_call_output: 'lsho',
  apply_patch_call: 'apc',
  apply_patch_call_output: 'apco',
  computer_call: 'cu',
  computer_call_output: 'cuo',
  web_search_call: 'ws',
  file_search_call: 'fs',
  code_interpreter_call: 'ci',
  image_generation_call: 'ig',
  mcp_list_tools: 'mcpl',
  mcp_call: 'mcp',
  mcp_approval_request: 'mcpr',
  mcp_approval_response: 'mcpa',
  program: 'prg',
  program_output: 'prgo',
  agent_message: 'amsg',
  multi_agent_call: 'mac',
  multi_agent_call_output: 'maco',
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
