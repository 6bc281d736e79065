/**
 * Type text of a JSON Schema the way gpt-oss was trained to read it. The layout, its quirks included, is that of
 * the openai/harmony library: what it has no notation for (anyOf, allOf, $ref, const) becomes `any`.
 */
type Schema = Readonly<Record<string, unknown>>;

/**
 * @param schema JSON Schema; anything that is not an object is `any`
 * @param indent blanks put before each line after the first
 */
export function schemaType(schema: unknown, indent = ''): string {
  const node = asSchema(schema);
  if (Array.isArray(node.oneOf)) {
    return node.oneOf
      .map(
        (option: unknown) => `\n${indent} | ${nullableType(option, indent + '   ')}${optionComment(option)}`,
      )
      .join('');
  }
  if (Array.isArray(node.type)) {
    const names = node.type.filter((name) => typeof name === 'string').map((name) => scalars[name] ?? name);
    if (names.length > 0) return names.join(' | ');
  }
  switch (node.type) {
    case 'object':
      return objectType(node, indent);
    case 'array':
      return node.items === undefined ? 'Array<any>' : `${schemaType(node.items, indent)}[]`;
    case 'string':
      return strings(node.enum).map(quoted).join(' | ') || 'string';
    case 'number':
    case 'integer':
    case 'boolean':
      return scalars[node.type] ?? node.type;
    default:
      return 'any';
  }
}

const scalars: Readonly<Record<string, string | undefined>> = { integer: 'number' };

function objectType(schema: Schema, indent: string): string {
  const required = new Set(strings(schema.required));
  let out = typeof schema.description === 'string' ? comment(schema.description, indent) : '';
  out += '{\n';
  for (const [key, value] of Object.entries(asSchema(schema.properties))) {
    out += propertyType(required.has(key) ? key : `${key}?`, asSchema(value), indent);
  }
  return `${out}${indent}}`;
}

/** Lines of one property; `key` carries its question mark. */
function propertyType(key: string, schema: Schema, indent: string): string {
  let out = typeof schema.title === 'string' ? `${comment(schema.title, indent)}${indent}//\n` : '';
  const options: unknown[] | undefined = Array.isArray(schema.oneOf) ? schema.oneOf : undefined;
  if (options === undefined) {
    if (schema.oneOf === undefined) out += describe(schema, indent);
    out += examples(schema, indent);
    out += `${indent}${key}: ${nullableType(schema, indent + '    ')},`;
    const value = schema.oneOf === undefined ? defaultText(schema) : undefined;
    return `${out}${value === undefined ? '' : ` // ${value}`}\n`;
  }
  out += examples(schema, indent);
  const { description } = schema;
  // The library leaves the shared text out above the property, and then out of the first option as well.
  const above = typeof description === 'string' && asSchema(options[0]).description !== description;
  if (above) out += describe(schema, indent);
  const value = defaultText(schema);
  if (value !== undefined) out += comment(value, indent);
  out += `${indent}${key}:\n`;
  options.forEach((option, index) => {
    const own = asSchema(option).description;
    const told = typeof own === 'string' && own !== description && !(index === 0 && above) ? own : undefined;
    out += `${indent} | ${nullableType(option, indent + '   ')}${trailing(told, defaultText(asSchema(option)))}\n`;
  });
  return `${out}${indent},\n`;
}

function nullableType(schema: unknown, indent: string): string {
  const type = schemaType(schema, indent);
  return asSchema(schema).nullable === true && !type.includes('null') ? `${type} | null` : type;
}

/** Comment after an option of a `oneOf` that is no property's own. */
function optionComment(option: unknown): string {
  const { description, default: value } = asSchema(option);
  const told = typeof description === 'string' ? description : undefined;
  const isEnum = strings(asSchema(option).enum).length > 0;
  if (isEnum && typeof value === 'string') return trailing(told, `default: ${JSON.stringify(value)}`);
  return trailing(told, defaultText(asSchema(option)));
}

/** `default: v`; strings are quoted unless they come from an enum. */
function defaultText(schema: Schema): string | undefined {
  const value = schema.default;
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return `default: ${JSON.stringify(value)}`;
  const isEnum = Array.isArray(schema.enum) && schema.enum.length > 0;
  return `default: ${isEnum ? value : quoted(value)}`;
}

function describe(schema: Schema, indent: string): string {
  return typeof schema.description === 'string' ? comment(schema.description, indent) : '';
}

function examples(schema: Schema, indent: string): string {
  if (!Array.isArray(schema.examples) || schema.examples.length === 0) return '';
  const lines = strings(schema.examples).map((example) => comment(`- ${quoted(example)}`, indent));
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

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
