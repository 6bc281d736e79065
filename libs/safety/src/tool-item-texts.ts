import { isSilentField, type ToolItem } from '@turnpike/protocol';
import type { ItemKind } from './categories.js';
import { addJsonText, addText, collectJson, JSON_FIELDS, type VisibleText } from './visible-text.js';

/** Names of fields that such items have, which say nothing by themselves. */
const USUAL: ReadonlySet<string> = new Set(
  (
    'action actions operation output outputs stdout stderr outcome exit_code results queries query url pattern title ' +
    'snippet text filename file_id score attributes code logs container_id revised_prompt server_label tools name ' +
    'description input_schema annotations arguments error approve approval_request_id reason author recipient content ' +
    'agent role max_output_length working_directory timeout_ms pending_safety_checks acknowledged_safety_checks'
  ).split(' '),
);

/**
 * Every text of an item of a tool other than functions. Such items are kept as they were sent, and servers that take messages
 * are given all of it as JSON: so fields that nobody knows are read as well, and their names.
 */
export function toolItemTexts(item: ToolItem, kind: ItemKind, texts: VisibleText[]): void {
  const read = (value: unknown, path: string): void => {
    if (typeof value === 'string') addText(value, kind, path, texts);
    else if (Array.isArray(value)) value.forEach((each, index) => read(each, `${path}[${index}]`));
    else if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) {
        if (isSilentField(item, name)) continue;
        const at = `${path}.${name}`;
        if (!USUAL.has(name)) addText(name, kind, at, texts);
        if (JSON_FIELDS.has(name) && typeof each === 'object') collectJson(each, kind, at, texts);
        else if (name === 'arguments' && typeof each === 'string') addJsonText(each, kind, at, texts);
        else read(each, at);
      }
    }
  };
  read(item, '');
}
