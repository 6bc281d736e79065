import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { parse } from 'yaml';
import type { z } from 'zod';
import { faultsOfModels } from './model-faults.js';
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

/** Addresses that only this machine reaches: all of 127.0.0.0/8, ::1, and the name for them. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

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
  const metricsPort = environment['METRICS_PORT'];
  if (metricsPort !== undefined && metricsPort !== '') {
    source['metrics'] = { ...(source['metrics'] as object | undefined), port: Number(metricsPort) };
  }
  const redisUrl = environment['REDIS_URL'];
  if (redisUrl !== undefined && redisUrl !== '') {
    source['billing'] = { ...(source['billing'] as object | undefined), redis: redisUrl };
  }
  const databaseUrl = environment['DATABASE_URL'];
  if (databaseUrl !== undefined && databaseUrl !== '') {
    source['store'] = { ...(source['store'] as object | undefined), kind: 'postgres', url: databaseUrl };
  }
  const result = configSchema.safeParse(source);
  const faults = result.success ? faultsOf(result.data, environment) : result.error.issues.flatMap(describe);
  if (!result.success || faults.length > 0) {
    throw new ConfigError(`The configuration is not valid:\n${faults.map((line) => `  ${line}`).join('\n')}`);
  }
  return result.data;
}

/** An issue as lines that start with the key at fault. */
function describe(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${[...issue.path, key].join('.')}: there is no such setting`);
  }
  return [`${issue.path.join('.')}: ${issue.message}`];
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

/** What is wrong between settings that are each valid. */
function faultsOf(config: Config, environment: NodeJS.ProcessEnv): string[] {
  const faults = faultsOfModels(config);
  for (const [name, { apiKeyEnv }] of Object.entries(config.engines)) {
    if (apiKeyEnv !== undefined && !environment[apiKeyEnv]) {
      faults.push(`engines.${name}.apiKeyEnv: there is no ${apiKeyEnv} in the environment`);
    }
  }
  const { kind, url } = config.store;
  if (kind === 'postgres' && url === undefined) {
    faults.push("store.url: kind 'postgres' needs the URL of its database here or in DATABASE_URL");
  }
  if (kind !== 'postgres' && url !== undefined) {
    faults.push(`store.url: only kind 'postgres' has a URL, and the kind is '${kind}'`);
  }
  return faults;
}
