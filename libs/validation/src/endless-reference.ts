/** Keywords whose schemas are about the same value as the schema they stand in. */
const LISTS = ['allOf', 'anyOf', 'oneOf'];
const SINGLES = ['not', 'if', 'then', 'else'];
const MAPS = ['dependentSchemas'];

type Schema = Readonly<Record<string, unknown>>;

/**
 * A reference that leads back to itself without going any deeper into the value, as `{"$ref": "#"}` does: checking a value
 * against it never ends. References by pointer (`#`, `#/...`) are followed; the others lead to schemas with a name of their
 * own, which a validator resolves.
 *
 * @returns the reference; undefined when there is none
 */
export function endlessReference(root: Schema): string | undefined {
  const finished = new Set<Schema>();
  const entered = new Set<Schema>();
  /** Schemas to look into; `leave` marks the end of what stands below one that was entered. */
  const steps: { schema: Schema; reference?: string | undefined; leave?: boolean }[] = [];
  for (const schema of everySchema(root)) {
    steps.push({ schema });
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      if (step.leave === true) {
        entered.delete(step.schema);
        finished.add(step.schema);
        continue;
      }
      if (finished.has(step.schema)) continue;
      if (entered.has(step.schema)) return step.reference ?? '#';
      entered.add(step.schema);
      steps.push({ ...step, leave: true });
      for (const next of sameValue(step.schema, root)) {
        steps.push({ schema: next.schema, reference: next.reference ?? step.reference });
      }
    }
  }
  return undefined;
}

/** Every object in a schema: those that are no schemas have no references that count. */
function everySchema(root: Schema): Schema[] {
  const found: Schema[] = [];
  const rest: unknown[] = [root];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) found.push(value as Schema);
    for (const each of Object.values(value)) rest.push(each);
  }
  return found;
}

function sameValue(schema: Schema, root: Schema): { schema: Schema; reference?: string }[] {
  const reference = schema['$ref'];
  const target = typeof reference === 'string' ? resolve(reference, root) : undefined;
  const parts: unknown[] = [
    ...LISTS.flatMap((key): unknown[] => (Array.isArray(schema[key]) ? schema[key] : [])),
    ...SINGLES.map((key) => schema[key]),
    ...MAPS.flatMap((key): unknown[] => (isSchema(schema[key]) ? Object.values(schema[key]) : [])),
  ];
  return [
    ...(target === undefined ? [] : [{ schema: target, reference: reference as string }]),
    ...parts.filter(isSchema).map((part) => ({ schema: part })),
  ];
}

function resolve(reference: string, root: Schema): Schema | undefined {
  if (!/^#(\/|$)/.test(reference)) return undefined;
  let value: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }
  return isSchema(value) ? value : undefined;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
