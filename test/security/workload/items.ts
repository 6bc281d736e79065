import type { ITEM_TYPES } from '@turnpike/protocol';

type ItemType = (typeof ITEM_TYPES)[number];
type Mark = (place: string) => string;

/**
 * One item of every type there is, or more, with a text of its own in every field that takes text. Together they are an
 * input that is accepted: what has to be answered is.
 */
export function everyItem(kept: Mark): Record<ItemType, object[]> {
  const { messages, functions } = conversation(kept);
  return {
    message: messages,
    reasoning: [
      {
        type: 'reasoning',
        id: kept('reasoning_id'),
        summary: [{ type: 'summary_text', text: kept('reasoning_summary') }],
        content: [{ type: 'reasoning_text', text: kept('reasoning_content') }],
        // Of another server, so that it is passed over.
        encrypted_content: kept('reasoning_encrypted'),
      },
    ],
    ...functions,
    ...executed(kept),
    ...hosted(kept),
    ...agents(kept),
    compaction: [],
  };
}

function conversation(kept: Mark) {
  const messages = (['user', 'system', 'developer'] as const).map((role) => ({
    type: 'message',
    id: kept(`message_id_${role}`),
    role,
    content: [{ type: 'input_text', text: kept(`message_${role}`) }],
  }));
  const assistant = {
    type: 'message',
    role: 'assistant',
    content: [
      {
        type: 'output_text',
        text: kept('message_assistant'),
        annotations: [{ type: 'url_citation', title: kept('message_annotation') }],
        logprobs: [{ token: kept('message_logprobs') }],
      },
      { type: 'refusal', refusal: kept('message_refusal') },
    ],
  };
  const easy = { role: 'user', content: kept('message_easy') };
  const functions = {
    function_call: [
      {
        type: 'function_call',
        id: kept('function_call_id'),
        call_id: kept('function_call_call_id'),
        name: kept('function_call_name'),
        namespace: kept('function_call_namespace'),
        arguments: JSON.stringify({ [kept('function_call_key')]: kept('function_call_value') }),
      },
    ],
    function_call_output: [
      {
        type: 'function_call_output',
        id: kept('function_output_id'),
        call_id: kept('function_call_call_id'),
        output: [{ type: 'input_text', text: kept('function_output_part') }],
      },
    ],
    custom_tool_call: [
      {
        type: 'custom_tool_call',
        call_id: kept('custom_call_id'),
        name: kept('custom_call_name'),
        input: kept('custom_call_input'),
      },
    ],
    custom_tool_call_output: [
      { type: 'custom_tool_call_output', call_id: kept('custom_call_id'), output: kept('custom_output') },
    ],
    tool_search_call: [
      {
        type: 'tool_search_call',
        call_id: kept('search_call_id'),
        arguments: { [kept('search_key')]: kept('search_value') },
      },
    ],
    tool_search_output: [
      {
        type: 'tool_search_output',
        call_id: kept('search_call_id'),
        tools: [
          { type: 'function', name: kept('search_tool_name'), description: kept('search_tool_description') },
        ],
      },
    ],
    additional_tools: [
      {
        type: 'additional_tools',
        id: kept('additional_tools_id'),
        role: 'developer',
        tools: [
          {
            type: 'namespace',
            name: kept('additional_namespace'),
            description: kept('additional_namespace_description'),
            tools: [
              {
                type: 'custom',
                name: kept('additional_tool'),
                description: kept('additional_tool_description'),
              },
            ],
          },
          {
            type: kept('additional_tool_type'),
            [kept('additional_tool_key')]: kept('additional_tool_value'),
          },
        ],
      },
    ],
    configuration_update: [
      { type: 'configuration_update', reasoning: { effort: 'low', note: kept('configuration_note') } },
    ],
  };
  return { messages: [...messages, assistant, easy], functions };
}

function executed(kept: Mark) {
  return {
    shell_call: [
      {
        type: 'shell_call',
        call_id: kept('shell_call_id'),
        action: { commands: [kept('shell_command')], env: { [kept('shell_env')]: 'x' } },
      },
    ],
    shell_call_output: [
      {
        type: 'shell_call_output',
        call_id: kept('shell_call_id'),
        output: [
          {
            stdout: kept('shell_stdout'),
            stderr: kept('shell_stderr'),
            outcome: { type: 'exit', exit_code: 1 },
          },
        ],
      },
    ],
    local_shell_call: [
      {
        type: 'local_shell_call',
        call_id: kept('local_shell_call_id'),
        action: {
          type: 'exec',
          command: [kept('local_shell_command')],
          working_directory: kept('local_shell_folder'),
        },
      },
    ],
    local_shell_call_output: [
      {
        type: 'local_shell_call_output',
        call_id: kept('local_shell_call_id'),
        output: kept('local_shell_output'),
      },
    ],
    apply_patch_call: [
      {
        type: 'apply_patch_call',
        call_id: kept('patch_call_id'),
        operation: { type: 'update_file', path: kept('patch_path'), diff: kept('patch_diff') },
      },
    ],
    apply_patch_call_output: [
      {
        type: 'apply_patch_call_output',
        call_id: kept('patch_call_id'),
        status: 'failed',
        output: kept('patch_output'),
      },
    ],
    computer_call: [
      {
        type: 'computer_call',
        call_id: kept('computer_call_id'),
        action: { type: 'type', text: kept('computer_text') },
      },
    ],
    computer_call_output: [
      {
        type: 'computer_call_output',
        call_id: kept('computer_call_id'),
        output: { type: 'computer_screenshot', image_url: `https://x/${kept('computer_screenshot')}.png` },
      },
    ],
    program: [{ type: 'program', call_id: kept('program_call_id'), code: kept('program_code') }],
    program_output: [
      { type: 'program_output', call_id: kept('program_call_id'), result: kept('program_result') },
    ],
  };
}

function hosted(kept: Mark) {
  return {
    web_search_call: [
      {
        type: 'web_search_call',
        action: { type: 'search', query: kept('web_query'), url: `https://x/${kept('web_url')}` },
        results: [{ title: kept('web_result') }],
      },
    ],
    file_search_call: [
      { type: 'file_search_call', queries: [kept('file_query')], results: [{ text: kept('file_result') }] },
    ],
    code_interpreter_call: [
      {
        type: 'code_interpreter_call',
        container_id: kept('code_container'),
        code: kept('code_text'),
        outputs: [{ type: 'logs', logs: kept('code_logs') }],
      },
    ],
    image_generation_call: [
      {
        type: 'image_generation_call',
        result: Buffer.from(kept('generated_image')).toString('base64'),
        revised_prompt: kept('generated_prompt'),
      },
    ],
    mcp_list_tools: [
      {
        type: 'mcp_list_tools',
        server_label: kept('mcp_list_label'),
        tools: [{ name: kept('mcp_list_tool') }],
      },
    ],
    mcp_call: [
      {
        type: 'mcp_call',
        server_label: kept('mcp_label'),
        name: kept('mcp_name'),
        arguments: JSON.stringify({ x: kept('mcp_argument') }),
        output: kept('mcp_output'),
        error: { message: kept('mcp_error') },
      },
    ],
    mcp_approval_request: [
      {
        type: 'mcp_approval_request',
        id: kept('mcp_approval_id'),
        server_label: kept('mcp_approval_label'),
        name: kept('mcp_approval_name'),
        arguments: kept('mcp_approval_arguments'),
      },
    ],
    mcp_approval_response: [
      {
        type: 'mcp_approval_response',
        approval_request_id: kept('mcp_approval_id'),
        approve: false,
        reason: kept('mcp_approval_reason'),
      },
    ],
  };
}

function agents(kept: Mark) {
  return {
    agent_message: [
      {
        type: 'agent_message',
        author: kept('agent_author'),
        recipient: kept('agent_recipient'),
        content: [{ type: 'input_text', text: kept('agent_text') }],
      },
    ],
    multi_agent_call: [
      {
        type: 'multi_agent_call',
        call_id: kept('multi_agent_call_id'),
        action: kept('multi_agent_action'),
        arguments: kept('multi_agent_arguments'),
      },
    ],
    multi_agent_call_output: [
      {
        type: 'multi_agent_call_output',
        call_id: kept('multi_agent_call_id'),
        output: [{ type: 'input_text', text: kept('multi_agent_output') }],
      },
    ],
  };
}
