import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { CATEGORIES, ITEM_KINDS } from './categories.js';
import { DETECTORS } from './detectors/detectors.js';

const action = z.enum(['off', 'flag', 'block']);
const texts = z.array(z.string().min(1)).min(1);

const rule = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9-]+$/, 'small letters, digits and hyphens'),
    category: z.enum(CATEGORIES),
    /** What becomes of a match, for all kinds of items or by kind. */
    action: z.union([action, z.partialRecord(z.enum([...ITEM_KINDS, 'default']), action)]).default('flag'),
    /** Found however they are written: case, spacing, punctuation, width, look-alikes, invisible characters, encodings. */
    phrases: texts.optional(),
    /** Found as they stand here and no other way. */
    exact: texts.optional(),
    /** Phrases that have to stand near each other, in any order. */
    all: z.array(z.string().min(1)).min(2).max(8).optional(),
    /** Of `all`: within how many letters and digits. */
    within: z.int().min(1).max(100_000).default(2_000),
    /** Patterns that are more than words. */
    detectors: z.array(z.enum(DETECTORS)).min(1).optional(),
  })
  .refine(({ phrases, exact, all, detectors }) => phrases ?? exact ?? all ?? detectors, {
    error: 'a rule needs phrases, exact, all or detectors',
  });

const pack = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/, 'small letters, digits and hyphens'),
  about: z.string().optional(),
  rules: z.array(rule),
});

export type RulePack = z.output<typeof pack>;
export type PackRule = z.output<typeof rule>;

/** The pack that comes with the server. */
const DEFAULT_PACK = new URL('../packs/default.yaml', import.meta.url);

/** A rule pack that cannot be used; the message names the file and what is wrong with it. */
export class RulePackError extends Error {
  override readonly name = 'RulePackError';
}

/**
 * Reads a pack from a YAML or JSON file.
 * @param file its path, or `default` for the pack that comes with the server
 * @throws RulePackError
 */
export function readRulePack(file: string): RulePack {
  let source: unknown;
  try {
    source = parse(readFileSync(file === 'default' ? DEFAULT_PACK : file, 'utf8'));
  } catch (thrown) {
    throw new RulePackError(`The rule pack '${file}' cannot be read: ${(thrown as Error).message}`);
  }
  return parseRulePack(source, file);
}

/** @throws RulePackError */
export function parseRulePack(source: unknown, file: string): RulePack {
  const result = pack.safeParse(source);
  if (!result.success) {
    const faults = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new RulePackError(`The rule pack '${file}' is not valid: ${faults.join('; ')}`);
  }
  const ids = result.data.rules.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new RulePackError(`The rule pack '${file}' has two rules '${twice}'.`);
  return result.data;
}
