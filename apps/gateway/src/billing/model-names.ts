import type { Config } from '../config/schema.js';

/** Names that models are asked for by. What a model is called changes nothing about what it costs. */
export class ModelNames {
  readonly #owners = new Map<string, string>();
  readonly #models: Config['models'];

  constructor(models: Config['models']) {
    this.#models = models;
    for (const [name, { aliases }] of Object.entries(models)) {
      for (const alias of aliases) this.#owners.set(alias, name);
    }
  }

  /** The name that a model is billed by: of an alias, that of its model. */
  modelOf(name: string): string {
    return this.#owners.get(name) ?? name;
  }

  /** Other names of a model. */
  aliasesOf(model: string): readonly string[] {
    return Object.hasOwn(this.#models, model) ? (this.#models[model]?.aliases ?? []) : [];
  }
}
