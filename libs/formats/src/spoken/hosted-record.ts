import { type ToolItem } from '@turnpike/protocol';

type HostedItem = Extract<
  ToolItem,
  {
    type:
      | 'web_search_call'
      | 'file_search_call'
      | 'code_interpreter_call'
      | 'image_generation_call'
      | 'mcp_list_tools'
      | 'program'
      | 'program_output';
  }
>;

/** What a tool that ran on a server did, in a few words: what it was asked, and the text that came of it. */
export interface HostedRecord {
  readonly tool: string;
  readonly text: string;
}

/** The record of such an item; undefined when there is nothing to tell. */
export function hostedRecord(item: HostedItem): HostedRecord | undefined {
  switch (item.type) {
    case 'web_search_call':
      return record('web_search', [webAction(item), ...resultTexts(item.results)]);
    case 'file_search_call': {
      const asked = item.queries ?? [];
      const searched = asked.length === 0 ? '' : `Searched files for: ${asked.join('; ')}`;
      return record('file_search', [searched, ...resultTexts(item.results)]);
    }
    case 'code_interpreter_call': {
      const logs = (item.outputs ?? []).map((output) => output.logs ?? '');
      const ran = item.code ?? '';
      return record('code_interpreter', [
        ran === '' ? '' : `Ran:\n${ran}`,
        logs.join('') === '' ? '' : `Output:\n${logs.join('')}`,
      ]);
    }
    case 'image_generation_call': {
      const of = item.revised_prompt ?? '';
      if (item.status === 'failed') return record('image_generation', ['No image could be generated.']);
      if (of === '' && typeof item.result !== 'string') return undefined;
      return record('image_generation', [of === '' ? 'Generated an image.' : `Generated an image of: ${of}`]);
    }
    case 'program':
      return record('program', [item.code === '' ? '' : `Ran:\n${item.code}`]);
    case 'program_output':
      return record('program', [item.result === '' ? '' : `Output:\n${item.result}`]);
    case 'mcp_list_tools':
      // Only the server that lists these tools can call them.
      return undefined;
  }
}

function record(tool: string, parts: readonly string[]): HostedRecord | undefined {
  const text = parts.filter((part) => part !== '').join('\n');
  return text === '' ? undefined : { tool, text };
}

function webAction({ action }: Extract<HostedItem, { type: 'web_search_call' }>): string {
  const { query, queries, url, pattern } = action ?? {};
  const page = typeof url !== 'string' || isData(url) ? 'a page' : url;
  if (typeof pattern === 'string') return `Looked for "${pattern}" on ${page}`;
  if (typeof url === 'string') return `Opened ${page}`;
  const asked = queries?.length ? queries : [query ?? ''];
  const searched = asked.filter((each) => each !== '').join('; ');
  return searched === '' ? '' : `Searched the web for: ${searched}`;
}

/** What results tell in words; fields of other kinds and names are passed over. */
const RESULT_FIELDS = ['title', 'filename', 'url', 'snippet', 'text'] as const;

function resultTexts(results: readonly Record<string, unknown>[] | null | undefined): string[] {
  return (results ?? []).map((result) =>
    RESULT_FIELDS.flatMap((field) => {
      const value = result[field];
      return typeof value === 'string' && value !== '' && !isData(value) ? [value] : [];
    }).join('\n'),
  );
}

/** Binary data in the form of a URL is never shown. */
function isData(url: string): boolean {
  return /^data:/i.test(url);
}
