import { type ImageSize } from '@turnpike/images';
import { answerMessage, finalMessage } from './answer.js';
import { type CallContext } from './arguments.js';
import { type OfferedTool } from './developer-message.js';
import { readMarkers, type Script } from './markers.js';
import { callMessage, type PlannedMessage } from './planned-message.js';
import { type PromptReading } from './read-prompt.js';

/** What the model wants to write, and what else it could begin with if the prompt leaves it no choice. */
export interface Plan {
  readonly script: Script;
  /** The messages of this output; never empty. */
  readonly messages: readonly PlannedMessage[];
  /** In this order; each could stand instead of `messages`. */
  readonly alternatives: readonly (readonly PlannedMessage[])[];
}

/** Tokens of analysis by effort, as gpt-oss knows it; any other word counts as medium. */
const REASONING: Readonly<Record<string, number>> = { low: 0, medium: 24, high: 96 };
const DEFAULT_REASONING = 24;
/** Breakages that lie between two messages, and so need a second one. */
const BETWEEN_MESSAGES: readonly unknown[] = ['header', 'stray'];
/** Patches are applied to files: never without being asked for. */
const ONLY_WHEN_ASKED = /^apply_?patch$/i;

/** Decides what to write. @param defaults the script that holds where the message's own markers say nothing */
export function planOutput(reading: PromptReading, images: readonly ImageSize[], defaults: Script): Plan {
  const marked = readMarkers(reading.ask);
  const script = { ...defaults, ...marked.script };
  const tool = chooseTool(reading.tools, script, marked.text);
  const complaints = [...marked.complaints, ...missing(reading.tools, marked.script)];
  const answer =
    complaints.length > 0
      ? finalMessage(complaints.join('; '), {})
      : answerMessage(reading, images, marked.text, script);
  const calls = complaints.length === 0 && !script.limit ? callsDue(reading, script, tool) : 0;
  const context = (offset: number): CallContext => ({
    text: marked.text,
    number: reading.outputsOfTurn + 1 + offset,
  });
  const body =
    tool && calls > 0 ? Array.from({ length: calls }, (_, i) => callMessage(tool, context(i))) : [answer];
  const preamble: PlannedMessage = { channel: 'commentary', text: `I will call ${tool?.name ?? 'no tool'}.` };
  const spoken = script.commentary && calls > 0 ? [preamble, ...body] : body;
  const analysis = analysisMessage(reading, script);
  const silent: PlannedMessage = { channel: 'final', text: '' };
  return {
    script,
    messages: script.empty ? [silent] : analysis ? [analysis, ...spoken] : spoken,
    alternatives: [
      spoken,
      body,
      [answer],
      ...reading.tools.map((offered) => [callMessage(offered, context(0))]),
      [analysis ?? { channel: 'analysis', text: 'Thinking.' }, ...body],
      [preamble, ...body],
    ],
  };
}

/** The tool to call: made up, asked for, or named by the user, or the first function tool, or the only custom one. */
function chooseTool(tools: readonly OfferedTool[], script: Script, said: string): OfferedTool | undefined {
  if (script.unasked !== undefined) return madeUp(script.unasked);
  const asked = script.tool ?? script.custom;
  if (asked !== undefined) return tools.find((tool) => isNamed(tool, asked));
  const functions = tools.filter((tool) => !tool.custom && !ONLY_WHEN_ASKED.test(tool.name));
  const only = tools.length === 1 && tools[0] && !ONLY_WHEN_ASKED.test(tools[0].name) ? tools[0] : undefined;
  return functions.find((tool) => mentions(said, tool.name)) ?? functions[0] ?? only;
}

/** A tool that exists in the model's mind alone. */
function madeUp(name: string): OfferedTool {
  const parameters = { kind: 'object', properties: [] } as const;
  return { recipient: `functions.${name}`, name, custom: false, parameters };
}

/** Whole words only: "read" is not named in "already". */
function mentions(said: string, name: string): boolean {
  for (let at = said.indexOf(name); at >= 0; at = said.indexOf(name, at + 1)) {
    if (!/[\w-]/.test(said.charAt(at - 1)) && !/[\w-]/.test(said.charAt(at + name.length))) return true;
  }
  return false;
}

function isNamed(tool: OfferedTool, name: string): boolean {
  return tool.name === name || tool.recipient === name;
}

/** Complaints about a tool that was asked for and is not offered. */
function missing(tools: readonly OfferedTool[], script: Script): string[] {
  const asked = script.tool ?? script.custom;
  if (asked === undefined || tools.some((tool) => isNamed(tool, asked))) return [];
  return [`no such tool: ${asked}`];
}

/** Calls to make now: none once every call of this user turn has its output. */
function callsDue(reading: PromptReading, script: Script, tool: OfferedTool | undefined): number {
  if (!tool) return 0;
  const atOnce = script.parallel ?? 1;
  const wanted = script.calls ?? atOnce;
  return Math.max(0, Math.min(atOnce, wanted - reading.outputsOfTurn));
}

function analysisMessage(reading: PromptReading, script: Script): PlannedMessage | undefined {
  const usual = REASONING[reading.effort] ?? DEFAULT_REASONING;
  const least = BETWEEN_MESSAGES.includes(script.broken) ? 8 : 0;
  const tokens = Math.max(least, script.reason ?? usual);
  return tokens > 0 ? { channel: 'analysis', text: 'We', padding: { kind: 'upTo', tokens } } : undefined;
}
