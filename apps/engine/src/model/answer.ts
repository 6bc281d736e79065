import { type ImageSize } from '@turnpike/images';
import { quote } from './excerpt.js';
import { type Script } from './markers.js';
import { type PlannedMessage } from './planned-message.js';
import { type PromptReading } from './read-prompt.js';
import { schemaValue } from './schema-value.js';

const TOOL_CHARACTERS = 200;
const USER_CHARACTERS = 80;

/** Tokens of this text end inside characters: emoji, joined emoji, flags, Hangul, combining marks. */
const SPLIT_CHARACTERS = '🫠🫡🫥 👩🏽‍🚀🏴‍☠️ 힣뷁쀍 각 Z͑ͫ̓a̴l̷g̸o𝔘𝔫𝔦 done';

/** The final message: what was heard, quoted, so that a wrong prompt shows. */
export function answerMessage(
  reading: PromptReading,
  images: readonly ImageSize[],
  said: string,
  script: Script,
): PlannedMessage {
  const heard = reading.outputsOfTurn > 0 ? reading.lastOutput : said;
  if (reading.schema) {
    const text = JSON.stringify(schemaValue(reading.schema, heard));
    return { channel: 'final', text: script.badjson ? text.slice(0, -1) : text };
  }
  const parts: string[] = [];
  if (reading.outputsOfTurn > 0) parts.push(`The tool said: ${quote(reading.lastOutput, TOOL_CHARACTERS)}.`);
  parts.push(`You said: ${quote(said, USER_CHARACTERS)}.`);
  if (script.emoji) parts.push(SPLIT_CHARACTERS);
  const counts = [`message ${reading.userMessages}`, counted(reading.toolOutputs, 'tool output')];
  const sizes = images.map(({ width, height }) => `${width}x${height}`);
  if (sizes.length > 0) counts.push(`${counted(sizes.length, 'image')} ${sizes.join(' ')}`);
  parts.push(`(${counts.join(', ')})`);
  return finalMessage(parts.join(' '), script);
}

/** A final message with this text, padded as the script wants. */
export function finalMessage(text: string, script: Script): PlannedMessage {
  if (script.limit) return { channel: 'final', text, padding: { kind: 'endless' } };
  if (script.tokens === undefined) return { channel: 'final', text };
  return { channel: 'final', text, padding: { kind: 'upTo', tokens: script.tokens } };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
