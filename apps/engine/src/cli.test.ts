import { describe, expect, it } from '@jest/globals';
import { helpText, parseCommand } from './cli.js';
import { DEFAULT_SETTINGS } from './settings.js';

describe('parseCommand', () => {
  it('reads flags, and takes defaults for the rest', () => {
    expect(parseCommand(['--port', '0', '--tps=65.5', '--script', 'calls=2 tokens=9'])).toEqual({
      kind: 'serve',
      settings: { ...DEFAULT_SETTINGS, port: 0, tps: 65.5, script: 'calls=2 tokens=9' },
    });
    expect(parseCommand(['--help'])).toEqual({ kind: 'help' });
    expect(parseCommand(['--version'])).toEqual({ kind: 'version' });
  });

  it.each([
    [['--prot', '1'], '--prot'],
    [['--port', '70000'], '--port'],
    [['--port', 'x'], '--port'],
    [['--port'], '--port'],
    [['--tps', '0'], '--tps'],
    [['--slots', '1.5'], '--slots'],
    [['--model='], '--model'],
    [['--script', 'call=2'], '--script'],
    [['serve'], 'serve'],
  ])('names what is wrong with %j', (argv, named) => {
    expect(() => parseCommand(argv)).toThrow(named);
  });

  it('explains every flag with its default', () => {
    for (const flag of [
      'host',
      'port',
      'model',
      'tps',
      'ttft-ms',
      'prefill-us-per-token',
      'context',
      'slots',
      'script',
    ]) {
      expect(helpText()).toMatch(new RegExp(`--${flag} .*\\(default .+\\)`));
    }
  });
});
