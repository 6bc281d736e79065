import { ApiError, type TextFormat } from '@turnpike/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { endlessReference } from './endless-reference.js';
import { withinTime } from './within-time.js';

/** What is wrong with an answer's text, for the client's developer to read; undefined when it is as asked for. */
export type AnswerCheck = (text: string) => string | undefined;

/** Characters of a schema's JSON text. OpenAI allows 120,000 in names and values together. */
const MAX_SCHEMA_CHARACTERS = 128 * 1024;
/** Nesting of a schema. OpenAI allows 10 levels of objects, each of which is up to three levels of schema. */
const MAX_SCHEMA_DEPTH = 64;
/** Longest time to compile a schema, and to check an answer against it, in ms. What stalls, stalls this long. */
const TIME_LIMIT_MS = 250;
/** Characters of schemas whose checks are remembered by this process. */
const REMEMBERED_CHARACTERS = 2 * 1024 * 1024;

const remembered = new Map<string, AnswerCheck>();
let rememberedCharacters = 0;
let schemasCompiled = 0;

/** Schemas that had to be compiled so far in this process, for tests that count work. */
export function answerSchemasCompiled(): number {
  return schemasCompiled;
}

/**
 * How to check an answer against `text.format`; undefined where any text will do. A schema is compiled once and
 * remembered by its text.
 * @param path of the format in the request
 * @throws ApiError invalid_value on the format's `schema`
 */
export function answerCheck(format: TextFormat, path = 'text.format'): AnswerCheck | undefined {
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return checkObject;
  const key = JSON.stringify(format.schema);
  const known = remembered.get(key);
  if (known !== undefined) {
    // Re-inserting moves the schema to the young end of the map.
    remembered.delete(key);
    remembered.set(key, known);
    return known;
  }
  const check = compile(format.schema, key, path);
  remembered.set(key, check);
  rememberedCharacters += key.length;
  for (const oldest of remembered.keys()) {
    if (rememberedCharacters <= REMEMBERED_CHARACTERS) break;
    remembered.delete(oldest);
    rememberedCharacters -= oldest.length;
  }
  return check;
}

const checkObject: AnswerCheck = (text) => {
  const value = parse(text);
  if (value === undefined) return NOT_JSON;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? undefined : 'it is not a JSON object';
};

const NOT_JSON = 'it is not valid JSON';

/** Only ever used for the schema of schemas, so that it is compiled once. */
let metaSchema: Ajv2020 | undefined;

/**
 * A validator is made for each schema: one that is shared would keep every schema it has seen, and ids in them could
 * collide. Remote references are never fetched, formats are annotations, and unknown keywords have no effect.
 */
function compile(schema: Record<string, unknown>, text: string, path: string): AnswerCheck {
  const refused = (reason: string) => refusal(reason, path);
  if (text.length > MAX_SCHEMA_CHARACTERS) {
    throw refused(`is longer than ${MAX_SCHEMA_CHARACTERS} characters`);
  }
  if (depthOf(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH) {
    throw refused(`is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
  }
  // An asynchronous validator would answer with a promise, which looks like a yes.
  if ('$async' in schema) throw refused("must not have '$async'");
  const endless = endlessReference(schema);
  if (endless !== undefined) throw refused(`refers to itself without end at '${endless.slice(0, 100)}'`);
  // The dialect is always 2020-12; what a schema calls itself is not looked up.
  const { $schema: _dialect, ...plain } = schema;
  schemasCompiled++;
  const meta = (metaSchema ??= new Ajv2020({ strict: false, validateFormats: false, logger: false }));
  meta.getSchema('https://json-schema.org/draft/2020-12/schema');
  const validate = orRefuse(refused, () =>
    withinTime(TIME_LIMIT_MS, () => {
      if (meta.validateSchema(plain) !== true)
        throw new Error(meta.errorsText(meta.errors, { dataVar: 'schema' }));
      return new Ajv2020({
        meta: false,
        validateSchema: false,
        strict: false,
        validateFormats: false,
        // Inlining multiplies the code that a schema compiles to.
        inlineRefs: false,
        // Optimising costs more than it saves, and overflows the stack for schemas of a thousand fields.
        code: { optimize: false },
        logger: false,
      }).compile(plain);
    }),
  );
  return (answer) => {
    const value = parse(answer);
    if (value === undefined) return NOT_JSON;
    try {
      if (withinTime(TIME_LIMIT_MS, () => validate(value))) return undefined;
    } catch {
      return 'it could not be checked against the schema in time';
    }
    // The path names fields of the schema or places in lists; the answer's own words stay out of errors.
    const [first] = validate.errors ?? [];
    return `it does not satisfy the schema: ${first?.keyword ?? 'false'} at '${first?.schemaPath ?? '#'}'`;
  };
}

function orRefuse<T>(refused: (reason: string) => ApiError, action: () => T): T {
  try {
    return action();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw refused(`cannot be used: ${reason.slice(0, 300)}`);
  }
}

function refusal(reason: string, path: string): ApiError {
  return new ApiError('invalid_value', {
    param: `${path}.schema`,
    message: `The schema of '${path}' ${reason}.`,
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Nesting of a value; looks no further than one level beyond `limit`. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (limit < 0) return 1;
  return 1 + Object.values(value).reduce<number>((most, each) => Math.max(most, depthOf(each, limit - 1)), 0);
}
