import { describe, expect, it } from '@jest/globals';
import { parseAdminArguments } from './cli.js';

const NOW = Date.parse('2026-06-01T00:00:00Z');

describe('--expires', () => {
  const at = (text: string) => {
    const { command } = parseAdminArguments(
      ['keys', 'create', '--tenant', 't', '--name', 'n', '--expires', text],
      NOW,
    );
    return new Date(Number(command?.body['expires_at']) * 1000).toISOString();
  };

  it('is the end of a day, or a time from now', () => {
    expect(at('2027-01-31')).toBe('2027-02-01T00:00:00.000Z');
    expect(at('2h')).toBe('2026-06-01T02:00:00.000Z');
  });

  it.each(['2027-02-30', '2027-13-01', '2027-1-1', 'soon', '1y'])('is not %s', (text) => {
    expect(() => at(text)).toThrow(text);
  });
});

it.each([
  [['keys', 'rotate', 'key_1', '--expires', '90d'], "'keys rotate' takes no --expires"],
  [['keys', 'create', '--tenant', 't', '--name', 'n', '--grace', '3h'], "'keys create' takes no --grace"],
  [['tenants', 'list', '--tenant', 't'], "'tenants list' takes no --tenant"],
  [['budgets', 'delete', 'bud_1', '--shadow'], "'budgets delete' takes no --shadow"],
])('%j says what it would not look at', (args, message) => {
  expect(() => parseAdminArguments(args, NOW)).toThrow(message);
});
