import { readFileSync } from 'node:fs';
import {
  chat,
  familyFormat,
  harmony,
  jinjaFormat,
  MissingControlToken,
  responses,
  specialTokensIn,
  specialTokensNamedIn,
  specialTokensOf,
  tokenizerFromFile,
  VocabularyError,
  type Format,
  type Tokenizer,
} from '@turnpike/formats';
import { z, ZodError } from 'zod';
import type { ModelConfig } from './schema.js';

type FormatConfig = Pick<ModelConfig, 'format' | 'tokenizer' | 'template'>;

/** A format that cannot be had; the field is the setting at fault. */
export class FormatFault extends Error {
  constructor(
    readonly field: keyof FormatConfig,
    message: string,
  ) {
    super(message);
  }
}

/** What is read of a tokenizer_config.json. */
const configTemplate = z.object({ chat_template: z.string() });

/** Formats that need no file: Harmony's vocabulary is built in, and messages have none that we know of. */
const WITHOUT_FILES = { harmony, chat, responses };

const known = new Map<string, Format>();

/**
 * The format of a model. Files are read at the first call; models of one format share it.
 * @throws FormatFault
 */
export function modelFormat(config: FormatConfig): Format {
  const key = JSON.stringify([config.format, config.tokenizer, config.template]);
  const format = known.get(key) ?? makeFormat(config);
  known.set(key, format);
  return format;
}

function makeFormat({ format, tokenizer: path, template }: FormatConfig): Format {
  if (template !== undefined && format !== 'jinja') {
    throw new FormatFault(
      'template',
      `the format '${format}' writes without a template: only 'jinja' takes one`,
    );
  }
  if (format === 'harmony' || format === 'chat' || format === 'responses') {
    if (path !== undefined) throw new FormatFault('tokenizer', `the format '${format}' takes no vocabulary`);
    return WITHOUT_FILES[format]();
  }
  if (path === undefined) {
    throw new FormatFault(
      'tokenizer',
      `the format '${format}' needs the model's tokenizer.json, or its GGUF file`,
    );
  }
  const tokenizer = vocabulary(path);
  try {
    if (format !== 'jinja') return familyFormat(format, tokenizer);
    if (template === undefined)
      throw new FormatFault('template', "the format 'jinja' needs the model's chat template");
    return byTemplate(template, tokenizer, path);
  } catch (thrown) {
    if (thrown instanceof FormatFault) throw thrown;
    if (thrown instanceof VocabularyError) throw new FormatFault('tokenizer', thrown.message);
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    if (thrown instanceof MissingControlToken) throw new FormatFault('format', message);
    throw new FormatFault('template', `the chat template cannot be used: ${message}`);
  }
}

/** @param vocabularyPath where the tokenizer was read from */
function byTemplate(path: string, tokenizer: Tokenizer, vocabularyPath: string): Format {
  const template = readTemplate(path);
  const [named] = specialTokensNamedIn(template);
  if (named === undefined) return jinjaFormat({ template, tokenizer });
  const specialTokens = path.endsWith('.json')
    ? specialTokensIn(path)
    : specialTokensOf(vocabularyPath, tokenizer);
  if (specialTokens === undefined) {
    throw new FormatFault(
      'tokenizer',
      `the chat template writes ${named}, and there is no tokenizer_config.json beside the vocabulary that says which token that is`,
    );
  }
  return jinjaFormat({ template, tokenizer, specialTokens });
}

function vocabulary(path: string) {
  try {
    return tokenizerFromFile(path);
  } catch (thrown) {
    if (thrown instanceof VocabularyError) throw new FormatFault('tokenizer', thrown.message);
    throw thrown;
  }
}

/** The template in a file of its own, or in the tokenizer_config.json that most models had it in. */
function readTemplate(path: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    return path.endsWith('.json') ? configTemplate.parse(JSON.parse(text)).chat_template : text;
  } catch (thrown) {
    if (thrown instanceof ZodError)
      throw new FormatFault('template', `${path} has no text as 'chat_template'`);
    throw new FormatFault('template', thrown instanceof Error ? thrown.message : String(thrown));
  }
}
