import { type HarmonyMessage, type Tokenizer } from '@turnpike/formats';
import { type Match, type PrefixCache } from '../cache/prefix-cache.js';
import { idsToJson } from '../cache/token-sequence.js';
import { RequestError } from './errors.js';
import { locatePrompt, parseIds, parseObject } from './prompt-bytes.js';
import { promptIds } from './prompt-ids.js';
import { encodeTextPrompt } from './text-prompt.js';

/** A request whose prompt has met the prefix cache. */
export interface Intake {
  /** The request without its prompt. */
  readonly fields: Record<string, unknown>;
  /** Tokens of the prompt. */
  readonly length: number;
  readonly match: Match<HarmonyMessage>;
  /** What follows the match, and its JSON with a comma after each number. */
  readonly tail: Int32Array;
  readonly tailJson: Buffer;
  /** True when the prompt was recognised as bytes and only its tail was parsed. */
  readonly fast: boolean;
}

/** Reads request bodies. A prompt that continues a kept sequence costs what is new in it. */
export class PromptIntake {
  constructor(
    private readonly cache: PrefixCache<HarmonyMessage>,
    private readonly tokenizer: Tokenizer,
    private readonly vocabulary = tokenizer.vocabularySize,
  ) {}

  /** @throws RequestError 400 when the body is not JSON or holds no prompt of valid ids */
  read(body: Buffer): Intake {
    return this.readBytes(body) ?? this.readParsed(body);
  }

  /** The way without JSON.parse for the prompt; undefined for a body it does not recognise. */
  readBytes(body: Buffer): Intake | undefined {
    const located = locatePrompt(body);
    if (!located) return undefined;
    const match = this.cache.match(body, located.start, located.end, saltOf(located.fields));
    const from = Math.min(located.start + match.bytes, located.end);
    const tail = parseIds(body, from, located.end, this.vocabulary);
    if (!tail) return undefined;
    const json = body.subarray(from, located.end);
    const tailJson = tail.length === 0 ? json : Buffer.concat([json, Buffer.from(',')]);
    return { fields: located.fields, length: match.tokens + tail.length, match, tail, tailJson, fast: true };
  }

  /** The ordinary way, with the same result. */
  readParsed(body: Buffer): Intake {
    const parsed = parseObject(body.toString('utf8'));
    if (!parsed) throw new RequestError(400, 'The request body is not a JSON object.');
    const { prompt, ...fields } = parsed;
    const ids = promptIds(prompt, this.vocabulary, (text) => encodeTextPrompt(text, this.tokenizer));
    const json = idsToJson(ids);
    const match = this.cache.match(json, 0, json.length - 1, saltOf(fields));
    const tail = ids.subarray(match.tokens);
    const tailJson = json.subarray(match.bytes);
    return { fields, length: ids.length, match, tail, tailJson, fast: false };
  }
}

/** What keeps the prompts of one client apart from those of others; one of the wrong type is refused later. */
function saltOf({ cache_salt: salt }: Record<string, unknown>): string {
  return typeof salt === 'string' ? salt : '';
}
