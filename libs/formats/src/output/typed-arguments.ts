import { jsonOfLiteral } from './literal-json.js';
import { type MessageWriter } from './message-writer.js';

type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'object' | 'array';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/**
 * Writes the arguments of a call as JSON where the model writes every value as bare text. The type that the tool's
 * schema gives a value decides what the text is: strings are handed on as they come; others wait for their end, and
 * are strings after all when they are not what the schema says. Numbers stay as they were written.
 */
export class TypedArguments {
  private readonly given = new Set<string>();
  private types: ReadonlySet<JsonType> | undefined;
  private asString = false;
  private held = '';

  /** @param schema JSON Schema of the arguments; anything else says nothing about them */
  constructor(
    private readonly schema: unknown,
    private readonly writer: MessageWriter,
  ) {}

  /** Whether the schema has a value of this name that was not given yet. */
  expects(key: string): boolean {
    return property(property(this.schema, 'properties'), key) !== undefined && !this.given.has(key);
  }

  /** @param written how the model itself says the value is written, when it does */
  begin(key: string, written?: 'string' | 'json'): void {
    const properties = property(this.schema, 'properties');
    this.types = written === 'json' ? undefined : typesOf(property(properties, key), this.schema);
    this.asString = written === 'string' || (written === undefined && isStringAlone(this.types));
    this.held = '';
    const before = this.given.size === 0 ? '{' : ',';
    this.given.add(key);
    this.writer.write(`${before}${JSON.stringify(key)}:${this.asString ? '"' : ''}`);
  }

  text(text: string): void {
    if (this.asString) this.writer.write(JSON.stringify(text.toWellFormed()).slice(1, -1));
    else this.held += text;
  }

  end(): void {
    if (this.asString) this.writer.write('"');
    else this.writer.write(jsonOf(this.held, this.types));
  }

  /** @param instead what stands where parameters could: where there are none, it may be the arguments as JSON */
  finish(instead: string): void {
    const whole = instead.trim();
    if (this.given.size > 0) this.writer.write('}');
    else if (whole.startsWith('{') && isJson(whole)) this.writer.write(whole);
  }
}

/** The JSON that a text stands for. */
function jsonOf(text: string, types: ReadonlySet<JsonType> | undefined): string {
  const trimmed = text.trim();
  const may = (type: JsonType) => types === undefined || types.has(type);
  if (may('integer') && INTEGER.test(trimmed)) return trimmed;
  if (may('number') && NUMBER.test(trimmed)) return trimmed;
  const lower = trimmed.toLowerCase();
  if (may('boolean') && (lower === 'true' || lower === 'false')) return lower;
  if (may('null') && (lower === 'null' || lower === 'none')) return 'null';
  if ((may('object') && trimmed.startsWith('{')) || (may('array') && trimmed.startsWith('['))) {
    if (isJson(trimmed)) return trimmed;
    const json = types === undefined || may('string') ? undefined : jsonOfLiteral(trimmed);
    if (json !== undefined) return json;
  }
  if (types === undefined && trimmed.startsWith('"') && isJson(trimmed)) return trimmed;
  return JSON.stringify(text.toWellFormed());
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isStringAlone(types: ReadonlySet<JsonType> | undefined): boolean {
  return types?.size === 1 && types.has('string');
}

const TYPES: readonly JsonType[] = ['string', 'integer', 'number', 'boolean', 'null', 'object', 'array'];

/** Deeper references are not followed. */
const MAX_DEPTH = 8;

/** The types that a schema allows; undefined when it does not say. */
function typesOf(schema: unknown, root: unknown, depth = 0): ReadonlySet<JsonType> | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const type = property(schema, 'type');
  const named = TYPES.filter((known) => known === type || (Array.isArray(type) && type.includes(known)));
  if (named.length > 0) {
    const types = new Set(named);
    if (property(schema, 'nullable') === true) types.add('null');
    return types;
  }
  const reference = property(schema, '$ref');
  if (typeof reference === 'string' && reference.startsWith('#/')) {
    const target = reference.slice(2).split('/').reduce<unknown>(property, root);
    return typesOf(target, root, depth + 1);
  }
  const constants = property(schema, 'enum');
  const values = Array.isArray(constants) ? (constants as unknown[]) : [property(schema, 'const')];
  if (values.length > 0 && values.every((value) => typeof value === 'string')) return new Set(['string']);
  for (const key of ['anyOf', 'oneOf', 'allOf']) {
    const options = property(schema, key);
    if (!Array.isArray(options)) continue;
    const known = options.map((option: unknown) => typesOf(option, root, depth + 1));
    if (known.every((types) => types !== undefined)) return new Set(known.flatMap((types) => [...types]));
  }
  return undefined;
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
