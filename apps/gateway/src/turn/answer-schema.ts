import type { EngineClient } from '@turnpike/inference';
import type { TextFormat } from '@turnpike/protocol';

/**
 * The schema, if the engine can be bound to it. One that cannot be asked is told nothing of it: its request fails for the
 * same reason, and by that it is known, as it is that the client has left.
 */
export async function boundSchema(
  engine: Pick<EngineClient, 'capabilities'>,
  schema: Record<string, unknown> | undefined,
  signal: AbortSignal,
): Promise<Record<string, unknown> | undefined> {
  if (schema === undefined) return undefined;
  const { grammars } = await engine.capabilities(signal).catch(() => ({ grammars: [] as readonly string[] }));
  return grammars.includes('json') ? schema : undefined;
}

/** JSON Schema of what a format asks for. */
export function schemaOf(format: TextFormat): Record<string, unknown> | undefined {
  if (format.type === 'json_schema') return format.schema;
  return format.type === 'json_object' ? { type: 'object' } : undefined;
}
