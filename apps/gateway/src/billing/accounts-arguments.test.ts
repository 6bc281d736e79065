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
    [['invoice', '--to', 'yesterday'], '--to is no day, as 2026-01-31'],
  ])('is refused where it cannot be understood: %j', (args, message) => {
    expect(() => parseAccountsArguments(args)).toThrow(ConfigError);
    expect(() => parseAccountsArguments(args)).toThrow(message);
  });
});
