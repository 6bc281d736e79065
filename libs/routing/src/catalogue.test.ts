import { describe, expect, it } from '@jest/globals';
import { engineOf, FORMAT } from '../testing/routes.js';
import { CatalogueBuilder, type CatalogueModel, type NamedModel, type OfferedModel } from './index.js';

const one = engineOf('one');
const two = { ...engineOf('two'), takesImages: true };

function named(name: string, extra: Partial<NamedModel> = {}): NamedModel {
  return {
    name,
    aliases: [],
    replicas: [{ engine: one, engineModel: name, weight: 1 }],
    fallbacks: [],
    format: FORMAT,
    contextTokens: 100,
    ...extra,
  };
}

const offered = (engine: typeof one, engineModel: string): OfferedModel => ({
  engine,
  engineModel,
  format: FORMAT,
  contextTokens: 50,
});

/** Where each name leads, tier by tier. */
const leads = (models: readonly CatalogueModel[]) =>
  Object.fromEntries(
    models.map(({ name, tiers }) => [
      name,
      tiers.map((tier) => tier.map(({ route }) => `${route.engine.name}:${route.engineModel}`).join(' ')),
    ]),
  );

describe('the catalogue', () => {
  it('has each name of a model, with routes under that name', () => {
    const models = new CatalogueBuilder().build([named('m', { aliases: ['alias'] })], []);
    expect(leads(models)).toEqual({ m: ['one:m'], alias: ['one:m'] });
    for (const { name, tiers } of models) expect(tiers[0]?.[0]?.route.model).toBe(name);
  });

  it('has what stands in for a model behind it: another model as it is, or the same elsewhere', () => {
    const replicas = [
      { engine: one, engineModel: 'b1', weight: 1 },
      { engine: two, engineModel: 'b2', weight: 1 },
    ];
    const other = named('other', { replicas, contextTokens: 7, fallbacks: ['m'] });
    const m = named('m', { fallbacks: ['other', { engine: two, engineModel: 'x' }] });
    const models = new CatalogueBuilder().build([m, other], []);
    expect(leads(models)).toEqual({
      m: ['one:m', 'one:b1 two:b2', 'two:x'],
      other: ['one:b1 two:b2', 'one:m'],
    });
    expect(models[0]?.tiers.flat().map(({ route }) => [route.model, route.contextTokens])).toEqual([
      ['m', 100],
      ['m', 7],
      ['m', 7],
      ['m', 100],
    ]);
  });

  it('offers what engines list under its own name, behind that of its engine where the name is taken', () => {
    const models = new CatalogueBuilder().build(
      [named('m', { aliases: ['gpt'] })],
      [offered(one, 'gpt'), offered(one, 'x'), offered(two, 'x'), offered(two, 'm'), offered(two, 'm')],
    );
    expect(leads(models)).toEqual({
      m: ['one:m'],
      gpt: ['one:m'],
      'one/gpt': ['one:gpt'],
      x: ['one:x'],
      'two/x': ['two:x'],
      'two/m': ['two:m'],
    });
  });

  it('gives a model no more context than the engine has there', () => {
    const replicas = [150, 40, undefined].map((contextTokens, index) => {
      const engine = engineOf(`e${index}`);
      return { engine, engineModel: 'm', weight: 1, contextTokens };
    });
    const fallbacks = [{ engine: two, engineModel: 'm', contextTokens: 60 }];
    const [model] = new CatalogueBuilder().build([named('m', { replicas, fallbacks })], []);
    expect(model?.tiers.flat().map(({ route }) => route.contextTokens)).toEqual([100, 40, 100, 60]);
  });

  it('gives images to engines that take them only', () => {
    const images = { tokens: 'fixed', each: 1 } as const;
    const replicas = [one, two].map((engine) => ({ engine, engineModel: 'm', weight: 1 }));
    const [model] = new CatalogueBuilder().build([named('m', { images, replicas })], []);
    expect(model?.tiers.flat().map(({ route }) => route.images)).toEqual([undefined, images]);
  });

  it('keeps the object of a route in which nothing has changed', () => {
    const builder = new CatalogueBuilder();
    const routesOf = (models: readonly CatalogueModel[]) =>
      models.flatMap(({ tiers }) => tiers.flat().map(({ route }) => route));
    const [m, x] = routesOf(builder.build([named('m')], [offered(one, 'x')]));
    const [m2, x2, y] = routesOf(builder.build([named('m')], [offered(one, 'x'), offered(one, 'y')]));
    expect([m2 === m, x2 === x, y?.model]).toEqual([true, true, 'y']);
    const [, x3] = routesOf(builder.build([named('m')], [{ ...offered(one, 'x'), contextTokens: 51 }]));
    expect(x3).not.toBe(x);
  });
});
