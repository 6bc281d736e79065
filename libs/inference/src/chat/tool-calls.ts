import { fieldsOf, type Fields } from '../read-values.js';

/** A call as far as it has come. */
export interface PartialCall {
  name: string;
  arguments: string;
  /** The server's own id for it: ours is another. */
  id: string | undefined;
}

/**
 * Puts calls together from the pieces of a stream. Servers differ: pieces are named by `index`, or by `id` alone, or not at
 * all; ids are repeated with every piece or only there in the first; several calls come under one index; calls come whole,
 * with arguments as an object.
 */
export class ToolCalls {
  readonly #calls: PartialCall[] = [];
  /** The call that pieces of an index belong to at the moment. */
  readonly #byIndex = new Map<number, PartialCall>();

  /** In the order in which they began. */
  get calls(): readonly PartialCall[] {
    return this.#calls;
  }

  add(piece: unknown): void {
    const fields = fieldsOf(piece);
    const told = fieldsOf(fields['function']);
    const call = this.#callOf(fields, told);
    if (call.name === '' && typeof told['name'] === 'string') call.name = told['name'];
    call.id ??= idOf(fields);
    const written = told['arguments'];
    if (typeof written === 'string') call.arguments += written;
    else if (written !== undefined && written !== null) call.arguments += JSON.stringify(written);
  }

  #callOf(fields: Fields, told: Fields): PartialCall {
    const id = idOf(fields);
    const index = typeof fields['index'] === 'number' ? fields['index'] : undefined;
    const known = index === undefined ? this.#unindexed(id, told) : this.#byIndex.get(index);
    const isOther = known?.id !== undefined && id !== undefined && id !== known.id && hasName(told);
    if (known !== undefined && !isOther) return known;
    const call: PartialCall = { name: '', arguments: '', id };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  /** The call that a piece without an index goes on with. */
  #unindexed(id: string | undefined, told: Fields): PartialCall | undefined {
    if (id !== undefined) return this.#calls.find((call) => call.id === id) ?? undefined;
    return hasName(told) ? undefined : this.#calls.at(-1);
  }
}

function idOf(fields: Fields): string | undefined {
  const { id } = fields;
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function hasName({ name }: Fields): boolean {
  return typeof name === 'string' && name !== '';
}
