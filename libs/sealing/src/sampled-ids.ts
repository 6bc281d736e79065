/** Ids that a model sampled, and the format they belong to. */
export interface SampledIds {
  readonly format: string;
  readonly ids: Int32Array;
}

/** Most ids that are read back: far more than one item of any model has. */
const MAX_IDS = 4_000_000;

/** Sampled ids as bytes: the format's name, then the ids in LEB128, most of which take three bytes. */
export function packSampledIds({ format, ids }: SampledIds): Uint8Array {
  const name = Buffer.from(format);
  const bytes = new Uint8Array(1 + name.length + ids.length * 5);
  bytes[0] = name.length;
  bytes.set(name, 1);
  let at = 1 + name.length;
  for (const id of ids) {
    let rest = id >>> 0;
    while (rest > 0x7f) {
      bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[at++] = rest;
  }
  return bytes.subarray(0, at);
}

/** The ids again; undefined when the bytes are not what {@link packSampledIds} makes. */
export function unpackSampledIds(bytes: Uint8Array): SampledIds | undefined {
  const nameLength = bytes[0] ?? 0;
  const start = 1 + nameLength;
  if (nameLength === 0 || bytes.length < start) return undefined;
  const ids: number[] = [];
  let id = 0;
  let shift = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    id |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte > 0x7f) {
      if (shift > 28) return undefined;
      continue;
    }
    if (id < 0 || ids.length >= MAX_IDS) return undefined;
    ids.push(id);
    id = 0;
    shift = 0;
  }
  if (shift !== 0) return undefined;
  return { format: Buffer.from(bytes.subarray(1, start)).toString(), ids: Int32Array.from(ids) };
}
