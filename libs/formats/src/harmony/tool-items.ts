import { callMadeBy, type ToolItem } from '@turnpike/protocol';
import { type CallTarget, type OpenCalls, type Piece } from '../format.js';
import { hostedRecord } from './hosted-record.js';
import { callHeader, messagePieces } from './message.js';
import { FUNCTIONS } from './tools.js';

type Target = Omit<CallTarget, 'type'>;

/**
 * Pieces of an item of a tool other than functions; the mapping is the table in this library's README. What the client
 * runs is a call and its output, as for functions. What a server ran, or asked for, is a record in the words of the tool:
 * this model cannot do it, and must not read it as its own words. Binary data is never shown.
 */
export function toolItemPieces(item: ToolItem, calls: OpenCalls): Piece[] {
  switch (item.type) {
    case 'shell_call':
    case 'local_shell_call':
      return callPieces(item, json(item.action));
    case 'apply_patch_call':
      return callPieces(item, json(item.operation));
    case 'computer_call':
      return callPieces(item, json(item.actions ?? item.action ?? {}));
    case 'multi_agent_call':
      return callPieces(item, item.arguments);
    case 'shell_call_output':
      return outputPieces({ name: 'shell' }, item.output.map(shellText).join('\n'));
    case 'local_shell_call_output':
      return outputPieces({ name: 'local_shell' }, item.output);
    case 'apply_patch_call_output':
      return outputPieces({ name: 'apply_patch' }, patchText(item));
    case 'computer_call_output':
      return outputPieces({ name: 'computer' }, 'A screenshot, which is not shown here.');
    case 'multi_agent_call_output':
      return outputPieces(calls.get(item.call_id) ?? { name: 'multi_agent' }, textOf(item.output));
    case 'mcp_call':
      return mcpPieces(item);
    case 'agent_message': {
      const text = textOf(item.content);
      if (text === '') return [];
      return recordPieces('multi_agent', `Message from ${item.author} to ${item.recipient}:\n${text}`);
    }
    case 'mcp_approval_request':
      return recordPieces(
        `${item.server_label}.${item.name}`,
        `Asked for approval of a call with ${item.arguments}`,
      );
    case 'mcp_approval_response': {
      const asked = calls.get(item.approval_request_id);
      const verdict = item.approve ? 'The call was approved.' : 'The call was not approved.';
      return recordPieces(
        asked === undefined ? 'mcp' : nameOf(asked),
        [verdict, item.reason ?? ''].join(' ').trimEnd(),
      );
    }
    case 'web_search_call':
    case 'file_search_call':
    case 'code_interpreter_call':
    case 'image_generation_call':
    case 'mcp_list_tools':
    case 'program':
    case 'program_output': {
      const record = hostedRecord(item);
      return record === undefined ? [] : recordPieces(record.tool, record.text);
    }
  }
}

/** A call that was cut short has no output and can have none: the model does not see it. */
function callPieces(item: ToolItem, content: string): Piece[] {
  const call = callMadeBy(item);
  return call === undefined ? [] : messagePieces({ ...functionHeader(call), content: [content] });
}

function functionHeader({ name, namespace }: Target) {
  return callHeader({ type: 'function', name, namespace });
}

function outputPieces(target: Target, content: string): Piece[] {
  return recordPieces(nameOf(target), content);
}

function recordPieces(author: string, content: string): Piece[] {
  return messagePieces({ author, recipient: 'assistant', channel: 'commentary', content: [content] });
}

function nameOf({ name, namespace }: Target): string {
  return `${namespace ?? FUNCTIONS}.${name}`;
}

/** A call by a remote server brings its output along; one that has none yet is not shown. */
function mcpPieces(item: Extract<ToolItem, { type: 'mcp_call' }>): Piece[] {
  const { server_label: namespace, name, output, error, status } = item;
  const failed = error !== undefined && error !== null;
  if (typeof output !== 'string' && !failed && status !== 'completed') return [];
  const reason = typeof error === 'string' ? error : json(error);
  return [
    ...messagePieces({ ...functionHeader({ name, namespace }), content: [item.arguments] }),
    ...outputPieces({ name, namespace }, failed ? `Failed: ${reason}` : (output ?? '')),
  ];
}

type ShellOutput = Extract<ToolItem, { type: 'shell_call_output' }>['output'][number];

function shellText({ stdout, stderr, outcome }: ShellOutput): string {
  const parts = [stdout, stderr].filter((part) => part !== '');
  parts.push(outcome.type === 'exit' ? `[exit code ${outcome.exit_code}]` : '[timed out]');
  return parts.join('\n');
}

function patchText({ status, output }: Extract<ToolItem, { type: 'apply_patch_call_output' }>): string {
  const said = output ?? '';
  if (status === 'failed') return said === '' ? 'Failed.' : `Failed: ${said}`;
  return said === '' ? 'Done.' : said;
}

/** Text parts, joined with nothing between them. */
function textOf(parts: readonly { text?: string | null | undefined }[]): string {
  return parts.map(({ text }) => text ?? '').join('');
}

/** JSON text without nulls, which say no more than absence. */
function json(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) => (entry === null ? undefined : entry)) ?? '';
}
