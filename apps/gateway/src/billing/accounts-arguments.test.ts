import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../config/load.js';
import { parseAccountsArguments } from './accounts-arguments.js';

describe('what is asked of the accounts', () => {
  it('is a command with its options', () => {
    const { command, csv, text, required } = parseAccountsArguments([
      'invoice',
      '--tenant',
      'acme',
      '--to',
      '2026-02-28',
      '--csv',
    ]);
    expect([command, csv, required('tenant'), text('from'), text('to')]).toEqual([
      'invoice',
      true,
      'acme',
      undefined,
      '2026-02-28',
    ]);
    const blank = parseAccountsArguments(['rerate', '--reason', ' ']);
    expect(() => blank.required('reason')).toThrow('--reason is missing');
    expect(() => required('reason')).toThrow(/^--reason is missing\n\n.*\n\nUsage/);
  });

  it.each([[[]], [['help']], [['--help']], [['reconcile', '--help']], [['rerate', '--help']]])(
    'is help: %j',
    (args) => {
      expect(parseAccountsArguments(args).command).toBe('help');
    },
  );

  it.each([
    [['frobnicate'], "There is no command 'frobnicate'"],
    [['reconcile', '--verbose'], 'Unknown option'],
    [['reconcile', 'now'], 'Unexpected argument'],
    [['invoice', '--tenant'], "'--tenant <value>' argument missing"],
    [['invoice', '--from', '2026-02-30'], '--from is no day, as 2026-01-31'],
    [['invoice', '--to', '2027-02-29'], '--to is no day, as 2026-01-31'],
    [['invoice', '--from', '2026-03-02', '--to', '2026-03-01'], '--to is before --from'],
    [['invoice', '--version', '2026-01'], "'invoice' takes no --version"],
    [['reconcile', '--tenant', 'acme'], "'reconcile' takes no --tenant"],
    [['reconcile', '--from', '2026-03-01'], '--from does not go without --statement'],
    [['reconcile', '--statement', 's.csv', '--json', 'j'], '--json does not go with --statement'],
    [['invoice', '--to', 'yesterday'], '--to is no day, as 2026-01-31'],
  ])('is refused where it cannot be understood: %j', (args, message) => {
    expect(() => parseAccountsArguments(args)).toThrow(ConfigError);
    expect(() => parseAccountsArguments(args)).toThrow(message);
  });

  it('is about this month until today, unless days are given, and never about none', () => {
    const daysOf = (...args: string[]) =>
      parseAccountsArguments(['invoice', ...args]).daysFor(Date.parse('2026-03-15T23:59:59Z'));
    expect(daysOf()).toEqual({ from: '2026-03-01', to: '2026-03-15' });
    expect(daysOf('--from', '2026-02-28', '--to', '2026-02-28')).toEqual({
      from: '2026-02-28',
      to: '2026-02-28',
    });
    // An invoice of the last month that forgets its beginning would be one of nothing.
    expect(() => daysOf('--to', '2026-02-28')).toThrow('no day from 2026-03-01 to 2026-02-28');
    expect(() => daysOf('--from', '2026-04-01')).toThrow('no day');
  });
});
