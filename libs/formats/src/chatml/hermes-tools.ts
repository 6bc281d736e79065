import type { Marks } from '../dialog/marks.js';
import type { Piece } from '../format.js';
import { dumps } from '../json/python-text.js';
import { chatTool, type FunctionDeclaration } from '../tools/declarations.js';

/** How Qwen and Hermes models are told of tools. The tags around the example are control tokens where there are any. */
export function hermesTools(tools: readonly FunctionDeclaration[], marks: Marks): readonly Piece[] {
  return [
    '# Tools\n\nYou may call one or more functions to assist with the user query.\n\n' +
      'You are provided with function signatures within <tools></tools> XML tags:\n<tools>',
    ...tools.map((tool) => `\n${dumps(chatTool(tool))}`),
    '\n</tools>\n\n',
    ...marks.pieces(
      'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n' +
        '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>',
      '<tool_call>',
      '</tool_call>',
    ),
  ];
}
