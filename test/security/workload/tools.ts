type Mark = (place: string) => string;

/** A tool of every kind, with a text of its own in every field that takes text. */
export function everyTool(kept: Mark): object[] {
  return [
    {
      type: 'function',
      name: kept('tool_name'),
      description: kept('tool_description'),
      parameters: {
        type: 'object',
        properties: {
          [kept('tool_key')]: {
            type: 'string',
            description: kept('tool_key_description'),
            enum: [kept('tool_enum')],
            default: kept('tool_default'),
          },
        },
      },
      output_schema: { title: kept('tool_output_schema') },
      allowed_callers: [kept('tool_caller')],
    },
    {
      type: 'custom',
      name: kept('custom_tool_name'),
      description: kept('custom_tool_description'),
      format: { type: 'grammar', syntax: 'lark', definition: kept('custom_tool_grammar') },
    },
    {
      type: 'namespace',
      name: kept('namespace_name'),
      description: kept('namespace_description'),
      tools: [
        { type: 'function', name: kept('member_name'), description: kept('member_description') },
        { type: kept('member_type'), label: kept('member_label') },
      ],
    },
    {
      type: 'tool_search',
      execution: 'client',
      description: kept('tool_search_description'),
      parameters: { type: 'object', properties: { [kept('tool_search_key')]: { type: 'string' } } },
    },
    {
      type: 'function',
      name: kept('deferred_name'),
      description: kept('deferred_description'),
      defer_loading: true,
    },
    {
      type: 'mcp',
      server_label: kept('mcp_server_label'),
      server_url: `https://x/${kept('mcp_server_url')}`,
      headers: { authorization: `Bearer ${kept('mcp_server_secret')}` },
    },
    { type: kept('tool_type'), [kept('tool_type_key')]: kept('tool_type_value') },
  ];
}
