import { excerpt } from './excerpt.js';

type Schema = Record<string, unknown>;

/** Nesting from which on a recursive schema is brought to an end. */
const DEEP = 6;
/** Nesting at which a schema that has no end gets one. */
const DEEPEST = 40;

/** Examples of the formats that OpenAI's structured outputs allow. */
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2025-01-31T12:00:00Z',
  date: '2025-01-31',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'sim@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * A JSON value that satisfies `root`: types, enum, const, required, nested objects, array and number bounds, string
 * lengths and formats, the first branch of anyOf/oneOf, allOf merged, $ref into the schema itself. Strings quote
 * `text`. A `pattern` is not honoured.
 */
export function schemaValue(root: Schema, text: string): unknown {
  return new ValueMaker(root, text).make(root, 0);
}

class ValueMaker {
  constructor(
    private readonly root: Schema,
    private readonly text: string,
  ) {}

  make(given: unknown, depth: number): unknown {
    const schema = this.resolve(given);
    if (depth > DEEPEST) return null;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
    const branches = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(branches) && branches.length > 0) {
      const { anyOf: _any, oneOf: _one, ...rest } = schema;
      return this.make({ ...rest, ...this.branch(branches, depth) }, depth);
    }
    switch (this.typeOf(schema, depth)) {
      case 'object':
        return this.object(schema, depth);
      case 'array':
        return this.array(schema, depth);
      case 'integer':
      case 'number':
        return numberIn(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return this.string(schema);
    }
  }

  private object(schema: Schema, depth: number): Schema {
    const properties = asSchema(schema.properties);
    const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
    const names = Object.keys(properties).filter((name) => required.includes(name));
    const undeclared = required.filter((name) => !Object.hasOwn(properties, name));
    return Object.fromEntries(
      [...names, ...undeclared].map((name) => [name, this.make(properties[name], depth + 1)]),
    );
  }

  private array(schema: Schema, depth: number): unknown[] {
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const least = numberOr(schema.minItems, 0);
    const usual = depth >= DEEP ? least : Math.max(least, 1, prefix.length);
    const length = Math.min(usual, numberOr(schema.maxItems, usual));
    return Array.from({ length }, (_, i) => this.make(prefix[i] ?? schema.items, depth + 1));
  }

  private string(schema: Schema): string {
    const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined;
    if (format !== undefined) return format;
    const wanted = excerpt(this.text, Math.min(60, numberOr(schema.maxLength, 60)));
    return wanted.padEnd(numberOr(schema.minLength, 0), '.');
  }

  /** The first branch; deep inside, the first that ends the recursion. */
  private branch(branches: readonly unknown[], depth: number): Schema {
    const resolved = branches.map((branch) => this.resolve(branch));
    const flat =
      depth < DEEP ? undefined : resolved.find((branch) => !('properties' in branch || 'anyOf' in branch));
    return flat ?? resolved[0] ?? {};
  }

  private typeOf(schema: Schema, depth: number): unknown {
    const { type } = schema;
    if (Array.isArray(type)) return depth >= DEEP && type.includes('null') ? 'null' : type[0];
    if (type !== undefined) return type;
    if ('properties' in schema) return 'object';
    return 'items' in schema || 'prefixItems' in schema ? 'array' : 'string';
  }

  /** Follows `$ref` and merges `allOf`. */
  private resolve(given: unknown, hops = 0): Schema {
    const schema = asSchema(given);
    if (hops > DEEPEST) return {};
    if (typeof schema.$ref === 'string') {
      const { $ref: _ref, ...rest } = schema;
      return { ...this.resolve(this.pointer(schema.$ref), hops + 1), ...rest };
    }
    if (!Array.isArray(schema.allOf)) return schema;
    const { allOf, ...rest } = schema;
    return (allOf as unknown[]).map((part) => this.resolve(part, hops + 1)).reduce<Schema>(merged, rest);
  }

  private pointer(reference: string): unknown {
    const path = reference.replace(/^#\/?/, '').split('/');
    const names = path.filter((part) => part !== '').map((part) => decodePointer(part));
    return names.reduce<unknown>((at, name) => asSchema(at)[name], this.root);
  }
}

/** Two schemas that both hold. */
function merged(a: Schema, b: Schema): Schema {
  const required = [a.required, b.required].flatMap((list) => (Array.isArray(list) ? list.map(String) : []));
  return {
    ...a,
    ...b,
    ...(required.length > 0 && { required }),
    ...((a.properties ?? b.properties) !== undefined && {
      properties: { ...asSchema(a.properties), ...asSchema(b.properties) },
    }),
  };
}

function numberIn(schema: Schema): number {
  const step = numberOr(schema.multipleOf, schema.type === 'integer' ? 1 : 0);
  const least = numberOr(schema.minimum, -Infinity);
  const above = numberOr(schema.exclusiveMinimum, -Infinity);
  const most = numberOr(schema.maximum, Infinity);
  const below = numberOr(schema.exclusiveMaximum, Infinity);
  const fits = (value: number) => value >= least && value > above && value <= most && value < below;
  const low = Math.max(least, above);
  const high = Math.min(most, below);
  const steps = step > 0 ? [Math.ceil(low / step) * step, (Math.floor(low / step) + 1) * step] : [];
  const candidates = [
    1,
    ...steps,
    least,
    most,
    (low + high) / 2,
    low + 1,
    high - 1,
    Math.floor(high / step) * step,
  ];
  const whole = (value: number) => step <= 0 || Number.isInteger(value / step);
  return candidates.find((value) => Number.isFinite(value) && whole(value) && fits(value)) ?? 1;
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function decodePointer(part: string): string {
  return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
}
