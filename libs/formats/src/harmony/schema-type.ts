import { isEntries, isNumber, type JsonEntries, type JsonTree } from '../json/json-text.js';

/**
 * Type text of a JSON Schema the way gpt-oss was trained to read it. The layout, its quirks included, is that of
 * the openai/harmony library: what it has no notation for (anyOf, allOf, $ref, const) becomes `any`.
 */
type Schema = JsonEntries;

const EMPTY: Schema = new Map();

/**
 * @param schema JSON Schema; anything that is not an object is `any`
 * @param indent blanks put before each line after the first
 */
export function schemaType(schema: JsonTree | undefined, indent = ''): string {
  const node = asSchema(schema);
  const options = listIn(node, 'oneOf');
  if (options !== undefined) {
    return options
      .map((option) => `\n${indent} | ${nullableType(option, indent + '   ')}${optionComment(option)}`)
      .join('');
  }
  const written = node.get('type');
  const names = strings(written).map((name) => scalars.get(name) ?? name);
  if (names.length > 0) return names.join(' | ');
  const type = typeof written === 'string' ? written : '';
  switch (type) {
    case 'object':
      return objectType(node, indent);
    case 'array':
      return node.has('items') ? `${schemaType(node.get('items'), indent)}[]` : 'Array<any>';
    case 'string':
      return strings(node.get('enum')).map(quoted).join(' | ') || 'string';
    case 'number':
    case 'integer':
    case 'boolean':
      return scalars.get(type) ?? type;
    default:
      return 'any';
  }
}

const scalars: ReadonlyMap<string, string> = new Map([['integer', 'number']]);

function objectType(schema: Schema, indent: string): string {
  const required = new Set(strings(schema.get('required')));
  let out = describe(schema, indent);
  out += '{\n';
  for (const [key, value] of asSchema(schema.get('properties'))) {
    out += propertyType(required.has(key) ? key : `${key}?`, asSchema(value), indent);
  }
  return `${out}${indent}}`;
}

/** Lines of one property; `key` carries its question mark. */
function propertyType(key: string, schema: Schema, indent: string): string {
  const title = schema.get('title');
  let out = typeof title === 'string' ? `${comment(title, indent)}${indent}//\n` : '';
  const options = listIn(schema, 'oneOf');
  if (options === undefined) {
    const isOneOf = schema.has('oneOf');
    if (!isOneOf) out += describe(schema, indent);
    out += examples(schema, indent);
    out += `${indent}${key}: ${nullableType(schema, indent + '    ')},`;
    const value = isOneOf ? undefined : defaultText(schema);
    return `${out}${value === undefined ? '' : ` // ${value}`}\n`;
  }
  out += examples(schema, indent);
  const description = schema.get('description');
  // The library leaves the shared text out above the property, and then out of the first option as well.
  const above = typeof description === 'string' && asSchema(options[0]).get('description') !== description;
  if (above) out += describe(schema, indent);
  const value = defaultText(schema);
  if (value !== undefined) out += comment(value, indent);
  out += `${indent}${key}:\n`;
  options.forEach((option, index) => {
    const own = asSchema(option).get('description');
    const told = typeof own === 'string' && own !== description && !(index === 0 && above) ? own : undefined;
    out += `${indent} | ${nullableType(option, indent + '   ')}${trailing(told, defaultText(asSchema(option)))}\n`;
  });
  return `${out}${indent},\n`;
}

function nullableType(schema: JsonTree, indent: string): string {
  const type = schemaType(schema, indent);
  return asSchema(schema).get('nullable') === true && !type.includes('null') ? `${type} | null` : type;
}

/** Comment after an option of a `oneOf` that is no property's own. */
function optionComment(option: JsonTree): string {
  const node = asSchema(option);
  const [description, value] = [node.get('description'), node.get('default')];
  const told = typeof description === 'string' ? description : undefined;
  const isEnum = strings(node.get('enum')).length > 0;
  if (isEnum && typeof value === 'string') return trailing(told, `default: ${JSON.stringify(value)}`);
  return trailing(told, defaultText(node));
}

/** `default: v`; strings are quoted unless they come from an enum. */
function defaultText(schema: Schema): string | undefined {
  const value = schema.get('default');
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return `default: ${compact(value)}`;
  const isEnum = (listIn(schema, 'enum') ?? []).length > 0;
  return `default: ${isEnum ? value : quoted(value)}`;
}

/** JSON without blanks, with numbers as the library writes them: `1.0`, `1e-7`, `1e16`. */
function compact(tree: JsonTree): string {
  if (typeof tree !== 'object' || tree === null) return JSON.stringify(tree);
  if (isNumber(tree)) return tree.number.replace(/e\+?(-?)0?/, 'e$1');
  if (!isEntries(tree)) return `[${tree.map(compact).join(',')}]`;
  return `{${[...tree].map(([key, value]) => `${JSON.stringify(key)}:${compact(value)}`).join(',')}}`;
}

function describe(schema: Schema, indent: string): string {
  const description = schema.get('description');
  return typeof description === 'string' ? comment(description, indent) : '';
}

function examples(schema: Schema, indent: string): string {
  const all = listIn(schema, 'examples') ?? [];
  if (all.length === 0) return '';
  const lines = strings(all).map((example) => comment(`- ${quoted(example)}`, indent));
  return comment('Examples:', indent) + lines.join('');
}

function comment(text: string, indent: string): string {
  return `${indent}// ${text}\n`;
}

function trailing(...parts: (string | undefined)[]): string {
  const told = parts.filter((part) => part !== undefined);
  return told.length === 0 ? '' : ` // ${told.join(' ')}`;
}

function quoted(text: string): string {
  return `"${text}"`;
}

function strings(value: JsonTree | undefined): string[] {
  return isList(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function listIn(schema: Schema, name: string): readonly JsonTree[] | undefined {
  const value = schema.get(name);
  return isList(value) ? value : undefined;
}

function isList(value: JsonTree | undefined): value is readonly JsonTree[] {
  return Array.isArray(value);
}

function asSchema(value: JsonTree | undefined): Schema {
  return value !== undefined && isEntries(value) ? value : EMPTY;
}
