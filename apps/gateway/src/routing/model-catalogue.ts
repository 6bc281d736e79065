import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  CatalogueBuilder,
  CatalogueRouter,
  type ListedModel,
  type NamedModel,
  type OfferedModel,
  type Place,
  type WatchedEngine,
} from '@turnpike/routing';
import { takesTokens } from '@turnpike/inference';
import { setTimeout as delay } from 'node:timers/promises';
import { engineSchema, replicasOf, type Config } from '../config/schema.js';
import { Engines, headersFor } from '../engines.js';
import { Formats } from '../formats.js';
import { log } from '../log.js';
import { CONFIG } from '../tokens.js';
import { ModelsQuestion } from './ask-models.js';
import { Lookout } from './lookout.js';
import { isGateway, loopbackPlaces } from './loopback.js';
import { sayLocked, sayUnlisted } from './say-unlisted.js';

/** How long an engine may take to say which models it has, in ms. */
const ANSWER_MS = 2_000;
/** How long the start waits for engines to say so, in ms; those that are slower come in later. */
const FIRST_LOOK_MS = 1_000;
/** Context of a model whose engine does not say what it is. */
const USUAL_CONTEXT = 131_072;

/** Models of an engine that a warning names. */
const SHOWN_MODELS = 10;

/** What was found where no engine was configured. */
export interface FoundEngine {
  readonly name: string;
  readonly port: number;
  readonly models: readonly string[];
}

/** Kinds of engines that are given messages. */
const MESSAGE_KINDS: ReadonlySet<string> = new Set(['chat', 'responses']);

/**
 * The models that can be asked for: those of the configuration, and those that engines list. Watches the engines, also
 * those that it finds on this machine, and keeps the router's catalogue as it is there.
 */
@Injectable()
export class ModelCatalogue implements OnApplicationShutdown {
  /** The default router, of this catalogue. */
  readonly router: CatalogueRouter;
  readonly #config: Config;
  readonly #engines: Engines;
  readonly #formats: Formats;
  readonly #named: readonly NamedModel[];
  readonly #builder = new CatalogueBuilder();
  readonly #question = new ModelsQuestion(ANSWER_MS);
  readonly #listed = new Map<string, readonly ListedModel[]>();
  /** By the names of the engines that are there, or may be. */
  #lookouts: ReadonlyMap<string, Lookout> = new Map();

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(Engines) engines: Engines,
    @Inject(Formats) formats: Formats,
  ) {
    this.#config = config;
    this.#engines = engines;
    this.#formats = formats;
    this.#named = Object.keys(config.models).map((name) => this.#namedModel(name));
    this.router = new CatalogueRouter([], engines);
    this.#rebuild();
  }

  /**
   * Asks every engine which models it has and goes on asking in the background; resolves when all have said so, or after
   * a moment.
   * @param onFound told of each engine found on this machine, also later
   */
  async start(onFound: (found: FoundEngine) => void): Promise<void> {
    const { engines, discovery, port } = this.#config;
    const places = discovery === false ? [] : loopbackPlaces(discovery, port);
    const parts = {
      question: this.#question,
      onListed: (engine: WatchedEngine, models: readonly ListedModel[]) => this.#take(engine.name, models),
    };
    this.#lookouts = new Map([
      ...Object.entries(engines).map(([name, engine]): [string, Lookout] => [
        name,
        new Lookout({
          ...parts,
          url: engine.url,
          headers: headersFor(engine),
          engine: this.#engines.get(name),
          onFound: () => undefined,
          onUnlisted: (answer) => sayUnlisted(name, engine.url, answer),
        }),
      ]),
      ...places.map((place): [string, Lookout] => {
        const { name, port, url } = place;
        const lookout = new Lookout({
          ...parts,
          url,
          onUnlisted: (answer) => sayLocked(place, answer),
          onFound: (models) => {
            if (isGateway(models)) return undefined;
            const engine = this.#engines.add(name, engineSchema.parse({ url }));
            this.#take(name, models);
            onFound({ name, port, models: this.#offeredBy(name).map(({ engineModel }) => engineModel) });
            return engine;
          },
        });
        return [name, lookout];
      }),
    ]);
    this.#engines.onDoubt = (name) => this.#lookouts.get(name)?.doubt();
    const first = Promise.all([...this.#lookouts.values()].map((lookout) => lookout.start()));
    await Promise.race([first, delay(FIRST_LOOK_MS)]);
  }

  onApplicationShutdown(): Promise<void> {
    for (const lookout of this.#lookouts.values()) lookout.stop();
    return this.#question.close();
  }

  #take(engine: string, models: readonly ListedModel[]): void {
    if (JSON.stringify(this.#listed.get(engine)) === JSON.stringify(models)) return;
    this.#listed.set(engine, models);
    // Another server may be there, which takes the requests of the one before and answers them in its own way.
    this.#engines.get(engine).reprobe();
    log.info({ engine, models: models.length }, 'engine lists its models');
    this.#sayFaults(engine, models);
    this.#rebuild();
  }

  /** Says where the configuration and what an engine lists do not go together. */
  #sayFaults(engine: string, models: readonly ListedModel[]): void {
    const configured = this.#config.engines[engine];
    if (configured === undefined) return;
    const listed = models.slice(0, SHOWN_MODELS).map(({ id }) => id);
    const missing = this.#missing(engine, models);
    if (missing.length > 0) {
      log.warn({ engine, missing, listed }, 'engine does not list models that the configuration names');
    }
    const named = this.#named.filter((model) =>
      placesOf(model).some((place) => place.engine.name === engine),
    );
    const inIds = named.filter(({ format }) => format.api === undefined).map(({ name }) => name);
    const [first] = models;
    if (
      configured.kind === 'auto' &&
      first !== undefined &&
      !takesTokens(first.ownedBy ?? '') &&
      inIds.length > 0
    ) {
      log.warn({ engine, models: inIds }, 'engine takes messages: the format of these has to be chat');
    }
    if (
      configured.offersListed &&
      first !== undefined &&
      named.length === 0 &&
      this.#offeredBy(engine).length === 0
    ) {
      log.warn(
        { engine, listed },
        'engine lists models that are not offered: models has to name them, with their format',
      );
    }
  }

  /** Models of an engine by the configuration that it does not list, by its names. */
  #missing(name: string, models: readonly ListedModel[]): string[] {
    // That server answers to any name.
    if (models.some(({ ownedBy }) => ownedBy === 'llamacpp')) return [];
    const listed = new Set(models.map(({ id }) => id));
    const named = this.#named
      .flatMap(placesOf)
      .flatMap(({ engine, engineModel }) => (engine.name === name ? [engineModel] : []));
    // Ollama says which version the name alone means.
    return [...new Set(named)].filter((model) => !listed.has(model) && !listed.has(`${model}:latest`));
  }

  #rebuild(): void {
    const offered = this.#engines.names().flatMap((name) => this.#offeredBy(name));
    this.router.replace(
      this.#builder.build(
        this.#named.map((model) => this.#asServed(model)),
        offered,
      ),
    );
  }

  /** The same model, with the context that each engine says it has there: an engine refuses what asks for more. */
  #asServed(model: NamedModel): NamedModel {
    const contextOf = ({ engine, engineModel }: Place) =>
      this.#listed.get(engine.name)?.find(({ id }) => id === engineModel)?.contextTokens;
    return {
      ...model,
      replicas: model.replicas.map((place) => ({ ...place, contextTokens: contextOf(place) })),
      fallbacks: model.fallbacks.map((place) =>
        typeof place === 'string' ? place : { ...place, contextTokens: contextOf(place) },
      ),
    };
  }

  /** What an engine lists and the configuration does not name, as far as it is known how to speak to it. */
  #offeredBy(name: string): OfferedModel[] {
    if (this.#config.engines[name]?.offersListed === false) return [];
    const engine = this.#engines.get(name);
    const isNamed = (id: string) =>
      this.#named.some((model) =>
        placesOf(model).some((place) => place.engine === engine && place.engineModel === id),
      );
    const { kind } = this.#config.engines[name] ?? { kind: 'auto' };
    // What runs on this machine costs nothing to offer; of a configured server somebody pays for each model.
    const isFound = this.#config.engines[name] === undefined;
    return (this.#listed.get(name) ?? []).flatMap((listed) => {
      const { id, ownedBy, trainedTokens = USUAL_CONTEXT, contextTokens = trainedTokens } = listed;
      const isTokenEngine = kind === 'auto' ? takesTokens(ownedBy ?? '') : !MESSAGE_KINDS.has(kind);
      const known = isTokenEngine ? this.#formats.known(id) : undefined;
      const format = known ?? (isFound && ownedBy !== undefined ? this.#formats.ofMessages() : undefined);
      return format === undefined || isNamed(id) ? [] : [{ engine, engineModel: id, format, contextTokens }];
    });
  }

  #namedModel(name: string): NamedModel {
    const model = this.#config.models[name];
    if (model === undefined) throw new Error(`there is no model '${name}'`);
    const { aliases, contextTokens, images, engineModel = name } = model;
    return {
      name,
      aliases,
      contextTokens,
      images,
      format: this.#formats.get(model),
      replicas: replicasOf(name, model).map((each) => ({ ...each, engine: this.#engines.get(each.engine) })),
      fallbacks: model.fallbacks.map((fallback) =>
        typeof fallback === 'string'
          ? fallback
          : {
              engine: this.#engines.get(fallback.engine),
              engineModel: fallback.engineModel ?? engineModel,
            },
      ),
    };
  }
}

/** Where a model of the configuration can be had itself. */
function placesOf({ replicas, fallbacks }: NamedModel): readonly Place[] {
  return [...replicas, ...fallbacks.filter((place) => typeof place !== 'string')];
}
