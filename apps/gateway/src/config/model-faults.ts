import type { Format } from '@turnpike/formats';
import type { MessagePart } from '@turnpike/protocol';
import { FormatFault, modelFormat } from './model-format.js';
import { replicasOf, type Config, type ModelConfig } from './schema.js';

/** What is wrong between models, their names and their engines, each a line that begins with the key at fault. */
export function faultsOfModels(config: Config): string[] {
  const models = Object.entries(config.models);
  return [
    ...models.flatMap(([name, model]) => faultsOfEngines(name, model, config)),
    ...models.flatMap(([name, model]) => faultsOfFallbacks(name, model, config)),
    ...faultsOfAliases(models),
    ...models.flatMap(([name, model]) => faultsOfFormat(name, model)),
  ];
}

function faultsOfEngines(name: string, model: ModelConfig, { engines }: Config): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const { engine } of replicasOf(name, model)) {
    const known = Object.hasOwn(engines, engine) ? engines[engine] : undefined;
    if (seen.has(engine)) faults.push(`models.${name}.engine: the engine '${engine}' is there twice`);
    else if (known === undefined) faults.push(noEngine(`models.${name}.engine`, engine));
    else if (takesMessages(known.kind) && model.format !== known.kind) {
      faults.push(
        `models.${name}.format: the engine '${engine}' takes messages, so this has to be ${known.kind}`,
      );
    } else if (model.images !== undefined && !takesMessages(model.format) && known.images === 'none') {
      faults.push(`models.${name}.images: the engine '${engine}' takes no images: its 'images' is none`);
    }
    seen.add(engine);
  }
  return faults;
}

function faultsOfFallbacks(name: string, model: ModelConfig, { engines, models }: Config): string[] {
  return model.fallbacks.flatMap((fallback, index) => {
    const path = `models.${name}.fallbacks.${index}`;
    if (typeof fallback === 'string') {
      const other = Object.hasOwn(models, fallback) ? models[fallback] : undefined;
      if (other === undefined) return [`${path}: there is no model '${fallback}' under models`];
      if (fallback === name) return [`${path}: a model cannot stand in for itself`];
      return model.images !== undefined && other.images === undefined
        ? [`${path}: '${name}' takes images and '${fallback}' does not, so it cannot stand in for it`]
        : [];
    }
    const { engine } = fallback;
    const known = Object.hasOwn(engines, engine) ? engines[engine] : undefined;
    if (known === undefined) return [noEngine(`${path}.engine`, engine)];
    return model.images !== undefined && !takesMessages(model.format) && known.images === 'none'
      ? [`${path}: '${name}' takes images and the engine '${engine}' does not: its 'images' is none`]
      : [];
  });
}

function faultsOfFormat(name: string, model: ModelConfig): string[] {
  try {
    const format = modelFormat(model);
    if (model.images === undefined || showsImages(format)) return [];
    return [`models.${name}.images: the format '${model.format}' has no place for images in this vocabulary`];
  } catch (thrown) {
    if (!(thrown instanceof FormatFault)) throw thrown;
    return [`models.${name}.${thrown.field}: ${thrown.message}`];
  }
}

/** Whether an image leaves anything in the prompt, for the engine to put it there. */
function showsImages(format: Format): boolean {
  const idsOf = (content: MessagePart[]): number => {
    const item = { type: 'message', role: 'user', content } as const;
    const { pieces, place } = format.renderItem(item, { calls: new Map(), place: undefined });
    return [...pieces, ...format.closing(place)].filter((piece) => typeof piece === 'number').length;
  };
  const text = { type: 'input_text', text: 'x' } as const;
  return idsOf([text, { type: 'input_image' }]) > idsOf([text]);
}

function faultsOfAliases(models: readonly [string, ModelConfig][]): string[] {
  const owners = new Map(models.map(([name]) => [name, name]));
  const faults: string[] = [];
  for (const [name, { aliases }] of models) {
    for (const alias of aliases) {
      const owner = owners.get(alias);
      if (owner !== undefined)
        faults.push(`models.${name}.aliases: '${alias}' is a name of '${owner}' already`);
      owners.set(alias, name);
    }
  }
  return faults;
}

/** Kinds of engines that take messages, and the formats for them, have the same names. */
function takesMessages(name: string): boolean {
  return name === 'chat' || name === 'responses';
}

function noEngine(path: string, engine: string): string {
  return `${path}: there is no engine '${engine}' under engines`;
}
