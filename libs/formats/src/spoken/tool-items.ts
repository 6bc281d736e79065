import { answerOf, callMadeBy, type ToolItem } from '@turnpike/protocol';
import { type OpenCalls } from '../format.js';
import { qualifiedName } from '../tools/namespaces.js';
import { hostedRecord } from './hosted-record.js';
import { type Spoken, type ToolName } from './spoken.js';

/**
 * What an item of a tool other than functions says; the mapping is the table in this library's README. What the client runs
 * is a call and its output, as for functions. What a server ran, or asked for, is a record. Binary data is never shown.
 */
export function toolItemSpoken(item: ToolItem, calls: OpenCalls): Spoken[] {
  switch (item.type) {
    case 'shell_call':
    case 'local_shell_call':
      return callSpoken(item, json(item.action));
    case 'apply_patch_call':
      return callSpoken(item, json(item.operation));
    case 'computer_call':
      return callSpoken(item, json(item.actions ?? item.action ?? {}));
    case 'multi_agent_call':
      return callSpoken(item, item.arguments);
    case 'shell_call_output':
      return outputSpoken(item, { name: 'shell' }, item.output.map(shellText).join('\n'));
    case 'local_shell_call_output':
      return outputSpoken(item, { name: 'local_shell' }, item.output);
    case 'apply_patch_call_output':
      return outputSpoken(item, { name: 'apply_patch' }, patchText(item));
    case 'computer_call_output':
      return outputSpoken(item, { name: 'computer' }, 'A screenshot, which is not shown here.');
    case 'multi_agent_call_output':
      return outputSpoken(item, calls.get(item.call_id) ?? { name: 'multi_agent' }, textOf(item.output));
    case 'mcp_call':
      return mcpSpoken(item);
    case 'agent_message': {
      const text = textOf(item.content);
      if (text === '') return [];
      return record('multi_agent', `Message from ${item.author} to ${item.recipient}:\n${text}`);
    }
    case 'mcp_approval_request':
      return record(
        `${item.server_label}.${item.name}`,
        `Asked for approval of a call with ${item.arguments}`,
      );
    case 'mcp_approval_response': {
      const asked = calls.get(item.approval_request_id);
      const verdict = item.approve ? 'The call was approved.' : 'The call was not approved.';
      return record(
        asked === undefined ? 'mcp' : qualifiedName(asked),
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
      const told = hostedRecord(item);
      return told === undefined ? [] : record(told.tool, told.text);
    }
  }
}

/** A call that was cut short has no output and can have none: the model does not see it. */
function callSpoken(item: ToolItem, content: string): Spoken[] {
  const call = callMadeBy(item);
  return call === undefined ? [] : [functionCall(call, call.id, content)];
}

function functionCall({ name, namespace }: ToolName, id: string | undefined, content: string): Spoken {
  return { kind: 'call', target: { type: 'function', name, namespace }, id, content };
}

function outputSpoken(item: ToolItem, tool: ToolName, content: string): Spoken[] {
  return [{ kind: 'output', tool, id: answerOf(item)?.id, content: [content] }];
}

function record(author: string, text: string): Spoken[] {
  return [{ kind: 'record', author, text }];
}

/** A call by a remote server brings its output along; one that has none yet is not shown. */
function mcpSpoken(item: Extract<ToolItem, { type: 'mcp_call' }>): Spoken[] {
  const { server_label: namespace, name, id, output, error, status } = item;
  const failed = error !== undefined && error !== null;
  if (typeof output !== 'string' && !failed && status !== 'completed') return [];
  const reason = typeof error === 'string' ? error : json(error);
  const tool = { name, namespace };
  return [
    functionCall(tool, id, item.arguments),
    { kind: 'output', tool, id, content: [failed ? `Failed: ${reason}` : (output ?? '')] },
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
