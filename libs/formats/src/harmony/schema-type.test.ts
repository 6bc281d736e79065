import { describe, expect, it } from '@jest/globals';
import { readJson } from '../json/json-text.js';
import { treeOf } from '../json/python-text.js';
import { schemaType } from './schema-type.js';

const typeOf = (schema: unknown) => schemaType(treeOf(schema));

describe('schemaType', () => {
  it.each<[unknown, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: 'number' }, 'number'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'null' }, 'any'],
    [{ type: 'array' }, 'Array<any>'],
    [{ type: 'array', items: { type: 'array', items: { type: 'integer' } } }, 'number[][]'],
    [{ type: ['integer', 'string', 'null'] }, 'number | string | null'],
    [{ type: [] }, 'any'],
    [{ type: ['constructor', 'toString'] }, 'constructor | toString'],
    [{ type: 'string', enum: ['a', 1, 'b'] }, '"a" | "b"'],
    [{ type: 'string', enum: [1] }, 'string'],
    [{ type: 'integer', enum: [1, 2] }, 'number'],
    [{ enum: ['a'] }, 'any'],
    [{ const: 'a' }, 'any'],
    [{ anyOf: [{ type: 'string' }] }, 'any'],
    [{ $ref: '#/x' }, 'any'],
    [{}, 'any'],
    [true, 'any'],
    [null, 'any'],
    [{ type: 'object' }, '{\n}'],
  ])('%j is %s', (schema, type) => {
    expect(typeOf(schema)).toBe(type);
  });

  it('marks what is not required, in the order of the client', () => {
    const properties = { b: { type: 'string' }, a: { type: 'string' } };
    expect(typeOf({ type: 'object', properties, required: ['a'] })).toBe('{\nb?: string,\na: string,\n}');
  });

  it('quotes defaults that are strings, unless they name an enum value', () => {
    const properties = {
      text: { type: 'string', default: 'x' },
      named: { type: 'string', enum: ['x'], default: 'x' },
      list: { type: 'array', default: [1, 'x'] },
      nothing: { type: 'string', default: null },
    };
    expect(typeOf({ type: 'object', properties, required: Object.keys(properties) })).toBe(
      '{\ntext: string, // default: "x"\nnamed: "x", // default: x\nlist: Array<any>, // default: [1,"x"]\n' +
        'nothing: string, // default: null\n}',
    );
  });

  it('indents nested objects and writes their description twice, as the model knows it', () => {
    const inner = {
      type: 'object',
      description: 'inner',
      properties: { x: { type: 'number', description: 'an x' } },
    };
    expect(typeOf({ type: 'object', properties: { inner, rows: { type: 'array', items: inner } } })).toBe(
      '{\n// inner\ninner?:     // inner\n{\n    // an x\n    x?: number,\n    },\n' +
        'rows?:     // inner\n{\n    // an x\n    x?: number,\n    }[],\n}',
    );
  });

  it('lists the options of a oneOf under their property', () => {
    const oneOf = [
      { type: 'string', description: 'shared' },
      { type: 'string', enum: ['a', 'b'], default: 'a', description: 'an enum' },
      { type: 'integer', nullable: true, default: 3 },
    ];
    const object = (description?: string) =>
      typeOf({ type: 'object', properties: { p: { title: 'P', oneOf, default: 'a', description } } });
    const options = ' | "a" | "b" // an enum default: a\n | number | null // default: 3\n,\n}';
    expect(object('shared')).toBe(`{\n// P\n//\n// default: "a"\np?:\n | string\n${options}`);
    expect(object('own')).toBe(`{\n// P\n//\n// own\n// default: "a"\np?:\n | string\n${options}`);
    expect(object()).toBe(`{\n// P\n//\n// default: "a"\np?:\n | string // shared\n${options}`);
  });

  it('lists the options of a oneOf elsewhere', () => {
    const oneOf = [
      { type: 'string', enum: ['a'], default: 'a', description: 'first' },
      { type: 'string', default: 'b' },
      { type: 'number', nullable: true },
    ];
    expect(typeOf({ oneOf })).toBe(
      '\n | "a" // first default: "a"\n | string // default: "b"\n | number | null',
    );
    expect(typeOf({ type: 'array', items: { oneOf: [{ type: 'string' }] } })).toBe('\n | string[]');
  });

  it('writes numbers as the library does, and keys in their order', () => {
    const properties =
      '{"2":{"default":1.0},"1":{"default":[1e-7,1e16,-0.0]},"x":{"default":{"2":100.0,"1":0.50}}}';
    expect(schemaType(readJson(`{"type":"object","properties":${properties}}`))).toBe(
      '{\n2?: any, // default: 1.0\n1?: any, // default: [1e-7,1e16,-0.0]\nx?: any, // default: {"2":100.0,"1":0.5}\n}',
    );
  });
});
