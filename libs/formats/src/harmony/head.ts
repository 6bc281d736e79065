import { type HeadSettings, type Piece } from '../format.js';
import { messagePieces } from './message.js';
import { FUNCTIONS, namespacesOf, type Namespace } from '../tools/namespaces.js';
import { toolsSection } from './tools.js';

/** What gpt-oss was trained to be told about itself. */
const IDENTITY = 'You are ChatGPT, a large language model trained by OpenAI.';
const KNOWLEDGE_CUTOFF = '2024-06';
const CHANNELS = ['analysis', 'commentary', 'final'] as const;

/** Reasoning efforts as the API names them, on the three that the model knows. */
const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['none', 'low'],
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'high'],
]);

export interface SystemSettings {
  /** YYYY-MM-DD. */
  date?: string | undefined;
  effort?: string | undefined;
  /** Channels the model may write to. */
  channels?: readonly string[];
  /** Tools the model knows from its training (`browser`, `python`): they stand here, not in the developer message. */
  builtIn?: readonly Namespace[];
  /** Whether the conversation offers tools in the `functions` namespace. */
  functions?: boolean;
}

/** Text of the system message. An effort that is not known, or none given, counts as medium. */
export function systemText({
  date,
  effort,
  channels = CHANNELS,
  builtIn = [],
  functions = false,
}: SystemSettings): string {
  const about = [IDENTITY, `Knowledge cutoff: ${KNOWLEDGE_CUTOFF}`];
  if (date !== undefined) about.push(`Current date: ${date}`);
  let valid = `# Valid channels: ${channels.join(', ')}. Channel must be included for every message.`;
  if (functions) valid += `\nCalls to these tools must go to the commentary channel: '${FUNCTIONS}'.`;
  const reasoning = `Reasoning: ${EFFORTS.get(effort ?? 'medium') ?? 'medium'}`;
  const tools = builtIn.length > 0 ? [toolsSection(builtIn)] : [];
  return [about.join('\n'), reasoning, ...tools, valid].join('\n\n');
}

/** Text of the developer message; '' when there is nothing to say. */
export function developerText(
  settings: Pick<HeadSettings, 'instructions' | 'tools' | 'responseFormat'>,
): string {
  const sections: string[] = [];
  if (settings.instructions !== undefined && settings.instructions !== '') {
    sections.push(instructionsSection(settings.instructions));
  }
  const namespaces = namespacesOf(settings.tools);
  if (namespaces.length > 0) sections.push(toolsSection(namespaces));
  if (settings.responseFormat !== undefined) {
    const { name, description, schema } = settings.responseFormat;
    const about = description === undefined ? '' : `// ${description.replaceAll('\n', '\n// ')}\n`;
    sections.push(`# Response Formats\n\n## ${name}\n\n${about}${JSON.stringify(schema)}`);
  }
  return sections.join('\n\n');
}

export function instructionsSection(text: string): string {
  return `# Instructions\n\n${text}`;
}

/** The system message, then a developer message where there are instructions, tools or a response format. */
export function headPieces(settings: HeadSettings): Piece[] {
  const functions = namespacesOf(settings.tools).some(({ name }) => name === FUNCTIONS);
  const system = systemText({ date: settings.date, effort: settings.reasoningEffort, functions });
  const developer = developerText(settings);
  const pieces = messagePieces({ author: 'system', content: [system] });
  if (developer !== '') pieces.push(...messagePieces({ author: 'developer', content: [developer] }));
  return pieces;
}
