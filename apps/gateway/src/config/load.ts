import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { configSchema, type Config } from './schema.js';

/** A configuration that cannot be used; the message says what to change. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Environment variables and the fields they override. */
const ENVIRONMENT = {
  PORT: { field: 'port', read: Number },
  HOST: { field: 'host', read: String },
  LOG_LEVEL: { field: 'log', read: String },
} as const;

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * The configuration: defaults, overridden by the file, overridden by the environment.
 * @param path of a YAML file; undefined for none
 * @throws ConfigError naming every key at fault
 */
export function loadConfig(path: string | undefined, environment: NodeJS.ProcessEnv): Config {
  const source: Record<string, unknown> = path === undefined ? {} : readFile(path);
  for (const [variable, { field, read }] of Object.entries(ENVIRONMENT)) {
    const value = environment[variable];
    if (value !== undefined && value !== '') source[field] = read(value);
  }
  const result = configSchema.safeParse(source);
  if (!result.success) {
    const lines = result.error.issues.map(
      (issue) => `  ${issue.path.join('.') || '(top level)'}: ${issue.message}`,
    );
    throw new ConfigError(`The configuration is not valid:\n${lines.join('\n')}`);
  }
  check(result.data);
  return result.data;
}

function readFile(path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    throw new ConfigError(`The configuration file ${path} cannot be read: ${(thrown as Error).message}`);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ConfigError(`The configuration file ${path} must hold a mapping.`);
  }
  return { ...value };
}

function check(config: Config): void {
  for (const [name, { engine }] of Object.entries(config.models)) {
    if (!Object.hasOwn(config.engines, engine)) {
      throw new ConfigError(`models.${name}.engine: there is no engine '${engine}' under engines.`);
    }
  }
  if (config.keys.length === 0 && !LOOPBACK.has(config.host)) {
    throw new ConfigError(
      `host: ${config.host} can be reached from other machines, so keys are required. Add keys, or bind to 127.0.0.1.`,
    );
  }
}
