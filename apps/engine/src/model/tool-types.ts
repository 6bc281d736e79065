/** The type of a parameter, as far as the model understands the declaration it was shown. */
export type ParameterType =
  | { readonly kind: 'string' | 'number' | 'boolean' | 'null' | 'any' }
  | { readonly kind: 'literals'; readonly values: readonly string[] }
  | { readonly kind: 'array'; readonly items: ParameterType }
  | { readonly kind: 'object'; readonly properties: readonly Property[] };

export interface Property {
  readonly name: string;
  readonly optional: boolean;
  readonly type: ParameterType;
}

const ANY: ParameterType = { kind: 'any' };

/**
 * Reads the TypeScript-like type that begins at `start`: objects, arrays, unions, string literals and the basic
 * types, with `//` comments anywhere. What is written in another way is `any`.
 */
export function parseType(source: string, start: number): ParameterType {
  try {
    return new TypeReader(source, start).union();
  } catch (error) {
    if (error instanceof Unreadable) return ANY;
    throw error;
  }
}

class Unreadable extends Error {}

/** A recursive-descent reader; throws Unreadable where the text is not a type. */
class TypeReader {
  constructor(
    private readonly source: string,
    private at: number,
  ) {}

  /** A union is known by its first member, a union of literals by all of them. */
  union(): ParameterType {
    const members: ParameterType[] = [];
    this.take('|');
    do members.push(this.postfix());
    while (this.take('|'));
    const literals = members.flatMap((member) => (member.kind === 'literals' ? member.values : []));
    if (literals.length === members.length) return { kind: 'literals', values: literals };
    return members[0] ?? ANY;
  }

  private postfix(): ParameterType {
    let type = this.primary();
    while (this.take('[]')) type = { kind: 'array', items: type };
    return type;
  }

  private primary(): ParameterType {
    if (this.take('{')) return this.object();
    if (this.take('Array<')) {
      const items = this.union();
      this.expect('>');
      return { kind: 'array', items };
    }
    if (this.take('(')) {
      const inner = this.union();
      this.expect(')');
      return inner;
    }
    const literal = this.match(/"(?:[^"\\]|\\.)*"/y);
    if (literal !== undefined) return { kind: 'literals', values: [unquote(literal)] };
    const word = this.match(/[A-Za-z]+/y);
    switch (word) {
      case 'string':
      case 'number':
      case 'boolean':
      case 'null':
      case 'any':
        return { kind: word };
      case undefined:
        throw new Unreadable();
      default:
        return ANY;
    }
  }

  private object(): ParameterType {
    const properties: Property[] = [];
    while (!this.take('}')) {
      const label = this.match(/("(?:[^"\\]|\\.)*"|[^\s:?{}"]+)\??:/y);
      if (label === undefined) throw new Unreadable();
      const optional = label.endsWith('?:');
      const name = label.slice(0, optional ? -2 : -1);
      properties.push({ name: name.startsWith('"') ? unquote(name) : name, optional, type: this.union() });
      if (!this.take(',')) this.take(';');
    }
    return { kind: 'object', properties };
  }

  private take(text: string): boolean {
    this.skip();
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private expect(text: string): void {
    if (!this.take(text)) throw new Unreadable();
  }

  /** What a sticky pattern matches here. */
  private match(pattern: RegExp): string | undefined {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** Moves over blanks and comments. */
  private skip(): void {
    const blank = /(?:\s+|\/\/[^\n]*)*/y;
    blank.lastIndex = this.at;
    this.at += blank.exec(this.source)?.[0].length ?? 0;
  }
}

function unquote(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal.slice(1, -1);
  }
}
