import { rowAmount, scaled } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import { z } from 'zod';
import { SCOPES } from './principal.js';
import { PERIODS } from './records.js';

const MOST_MODELS = 200;
/** Nobody types control characters, and Postgres has no place for the first of them. */
const NO_CONTROLS = [/^\P{Cc}*$/u, 'must not have control characters'] as const;
const name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(...NO_CONTROLS);
const modelName = z
  .string()
  .min(1)
  .max(200)
  .regex(...NO_CONTROLS);
const scopes = z
  .array(z.enum(SCOPES))
  .min(1)
  .transform((list) => [...new Set(list)]);
const models = z.array(modelName).min(1).max(MOST_MODELS).nullable();
/** Seconds since the epoch; what a date can hold. */
const expiresAt = z.int().min(0).max(8_640_000_000_000).nullable();

/** Names of tenants go into file names, URLs and spreadsheets. */
const tenantId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "must be 1 to 64 letters, digits, '.', '_' or '-', not first a sign",
  );

const amount = z.union([z.string(), z.number()]).transform((value, context) => {
  try {
    return rowAmount(scaled(value));
  } catch (thrown) {
    context.addIssue({ code: 'custom', message: (thrown as Error).message });
    return z.NEVER;
  }
});

const GRACE_MOST_S = 30 * 24 * 60 * 60;

/** What the admin API takes, by what is done. Fields as they are on the wire. */
export const INPUT = {
  tenant: z.strictObject({ id: tenantId, name: name.optional() }),
  key: z.strictObject({
    tenant: tenantId.optional(),
    name,
    scopes: scopes.default(['inference']),
    models: models.default(null),
    expires_at: expiresAt.default(null),
  }),
  keyChange: z.strictObject({
    name: name.optional(),
    scopes: scopes.optional(),
    models: models.optional(),
    expires_at: expiresAt.optional(),
  }),
  rotation: z.strictObject({ grace_seconds: z.int().min(0).max(GRACE_MOST_S).default(0) }),
  budget: z.strictObject({
    tenant: tenantId.optional(),
    key: z.string().min(1).max(200).optional(),
    model: modelName.optional(),
    amount_usd: amount,
    period: z.enum(PERIODS),
    shadow: z.boolean().default(false),
  }),
} as const;

/** @throws ApiError naming the field at fault */
export function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue === undefined) throw new ApiError('invalid_value');
  if (issue.code === 'unrecognized_keys') {
    const param = [...issue.path, issue.keys[0]].join('.');
    throw new ApiError('unsupported_parameter', { param, message: `There is no parameter '${param}'.` });
  }
  const param = pathOf(issue.path);
  if (param === undefined) throw new ApiError('invalid_type', { message: 'The body must be a JSON object.' });
  if (isMissing(body, issue.path)) {
    throw new ApiError('missing_required_parameter', { param, message: `'${param}' is required.` });
  }
  throw new ApiError('invalid_value', { param, message: `'${param}': ${issue.message}.` });
}

function pathOf(path: readonly PropertyKey[]): string | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return undefined;
  return rest.reduce<string>(
    (text, each) => (typeof each === 'number' ? `${text}[${each}]` : `${text}.${String(each)}`),
    String(first),
  );
}

/** Whatever a field has to be, one that is not there is missing. */
function isMissing(body: unknown, [first]: readonly PropertyKey[]): boolean {
  return typeof body === 'object' && body !== null && first !== undefined && !(first in body);
}
