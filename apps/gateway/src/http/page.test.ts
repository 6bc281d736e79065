import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pageOf, parsePageQuery } from './page.js';

describe('parsePageQuery', () => {
  it('has the defaults of the protocol', () => {
    expect(parsePageQuery({})).toEqual({ limit: 20, order: 'desc', after: undefined });
  });

  it.each([
    [{ limit: '0' }, 'limit'],
    [{ limit: '101' }, 'limit'],
    [{ limit: '1e1' }, 'limit'],
    [{ limit: '-1' }, 'limit'],
    [{ limit: '' }, 'limit'],
    [{ limit: ['1', '2'] }, 'limit'],
    [{ order: 'up' }, 'order'],
    [{ order: ['asc', 'desc'] }, 'order'],
    [{ after: ['a', 'b'] }, 'after'],
  ])('refuses %j', (query, param) => {
    expect(() => parsePageQuery(query)).toThrow(expect.objectContaining({ code: 'invalid_value', param }));
  });
});

describe('pageOf', () => {
  it('refuses a cursor that is no entry', () => {
    expect(() => pageOf([{ id: 'a' }], { limit: 1, order: 'asc', after: 'b' })).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'after' }),
    );
  });

  it('has no ids when it is empty', () => {
    expect(pageOf([], { limit: 20, order: 'desc', after: undefined })).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('goes through every entry once, in order', () => {
    fc.assert(
      fc.property(
        fc.nat(50),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom('asc' as const, 'desc' as const),
        (count, limit, order) => {
          const entries = Array.from({ length: count }, (_, index) => ({ id: `id_${index}` }));
          const seen: { id: string }[] = [];
          for (let after: string | undefined, more = true; more;) {
            const page = pageOf(entries, { limit, order, after });
            expect(page.data.length).toBeLessThanOrEqual(limit);
            expect([page.first_id, page.last_id]).toEqual([
              page.data[0]?.id ?? null,
              page.data.at(-1)?.id ?? null,
            ]);
            seen.push(...page.data);
            after = page.last_id ?? undefined;
            more = page.has_more;
          }
          expect(seen).toEqual(order === 'asc' ? entries : entries.toReversed());
        },
      ),
    );
  });
});
