import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { VocabularyError } from './vocabulary-error.js';

/** A value in the head of a GGUF file. Numbers of 64 bits beyond what a double can hold lose precision. */
export type GgufValue = string | number | boolean | readonly string[] | Float64Array | readonly GgufValue[];

/** Bytes read from the file at a time. */
const READ_BYTES = 1 << 20;

/** More than any head has; a larger one is a broken file. */
const MAX_HEAD_BYTES = 512 * 2 ** 20;

const TYPE = { uint8: 0, int8: 1, uint16: 2, int16: 3, uint32: 4, int32: 5, float32: 6, bool: 7 } as const;
const STRING = 8;
const ARRAY = 9;
const UINT64 = 10;
const INT64 = 11;
const FLOAT64 = 12;

/**
 * The metadata at the head of a GGUF file (versions 2 and 3, little-endian), by key. Tensors are not read.
 * @param wanted which keys to keep; the others are passed over
 * @throws VocabularyError when the file cannot be read or is broken.
 */
export function readGgufMetadata(
  path: string,
  wanted: (key: string) => boolean = () => true,
): ReadonlyMap<string, GgufValue> {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    return new HeadReader(file).read(wanted);
  } catch (error) {
    throw new VocabularyError(path, undefined, error instanceof Error ? error.message : String(error));
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

class HeadReader {
  private buffer = Buffer.alloc(0);
  private at = 0;
  /** Offset in the file behind what the buffer holds. */
  private position = 0;
  private readonly size: number;

  constructor(private readonly file: number) {
    this.size = Math.min(fstatSync(file).size, MAX_HEAD_BYTES);
  }

  read(wanted: (key: string) => boolean): ReadonlyMap<string, GgufValue> {
    if (this.take(4).toString('latin1') !== 'GGUF') throw new Error('not a GGUF file');
    const version = this.number(TYPE.uint32);
    if (version !== 2 && version !== 3) throw new Error(`GGUF version ${version} is not supported`);
    this.number(UINT64); // tensors
    const entries = this.number(UINT64);
    const values = new Map<string, GgufValue>();
    for (let i = 0; i < entries; i++) {
      const key = this.string();
      const value = this.value(this.number(TYPE.uint32), 0);
      if (wanted(key)) values.set(key, value);
    }
    return values;
  }

  private value(type: number, depth: number): GgufValue {
    if (type === STRING) return this.string();
    if (type === TYPE.bool) return this.number(TYPE.uint8) !== 0;
    if (type !== ARRAY) return this.number(type);
    const member = this.number(TYPE.uint32);
    const length = this.number(UINT64);
    // Each member takes a byte at least: a broken length must not take all memory.
    if (length > this.size || depth > 4) throw new Error('an array that is longer than the file');
    if (member === STRING) return Array.from({ length }, () => this.string());
    if (member === ARRAY || member === TYPE.bool) {
      return Array.from({ length }, () => this.value(member, depth + 1));
    }
    return Float64Array.from({ length }, () => this.number(member));
  }

  private string(): string {
    return this.take(this.number(UINT64)).toString('utf8');
  }

  private number(type: number): number {
    switch (type) {
      case TYPE.uint8:
        return this.take(1).readUInt8();
      case TYPE.int8:
        return this.take(1).readInt8();
      case TYPE.uint16:
        return this.take(2).readUInt16LE();
      case TYPE.int16:
        return this.take(2).readInt16LE();
      case TYPE.uint32:
        return this.take(4).readUInt32LE();
      case TYPE.int32:
        return this.take(4).readInt32LE();
      case TYPE.float32:
        return this.take(4).readFloatLE();
      case UINT64:
        return Number(this.take(8).readBigUInt64LE());
      case INT64:
        return Number(this.take(8).readBigInt64LE());
      case FLOAT64:
        return this.take(8).readDoubleLE();
    }
    throw new Error(`a value of unknown type ${type}`);
  }

  /** The next bytes, which stay valid until the next call. */
  private take(length: number): Buffer {
    if (this.at + length > this.buffer.length) this.fill(length);
    this.at += length;
    return this.buffer.subarray(this.at - length, this.at);
  }

  private fill(length: number): void {
    const rest = this.buffer.subarray(this.at);
    const wanted = Math.max(READ_BYTES, length - rest.length);
    if (this.position - rest.length + length > this.size) throw new Error('the file breaks off in its head');
    const more = Buffer.alloc(Math.min(wanted, this.size - this.position));
    const read = readSync(this.file, more, 0, more.length, this.position);
    this.position += read;
    this.buffer = Buffer.concat([rest, more.subarray(0, read)]);
    this.at = 0;
    if (this.buffer.length < length) throw new Error('the file breaks off in its head');
  }
}
