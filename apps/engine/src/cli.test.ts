import { describe, expect, it } from '@jest/globals';
import { helpText, parseCommand } from './cli.js';
import { DEFAULT_GGUF_SETTINGS, DEFAULT_SETTINGS } from './settings.js';

describe('parseCommand', () => {
  it('reads flags, and takes defaults for the rest', () => {
    expect(parseCommand(['--port', '0', '--tps=65.5', '--script', 'calls=2 tokens=9'])).toEqual({
      kind: 'simulated',
      settings: { ...DEFAULT_SETTINGS, port: 0, tps: 65.5, script: 'calls=2 tokens=9' },
    });
    expect(parseCommand(['--help'])).toEqual({ kind: 'help' });
    expect(parseCommand(['--version'])).toEqual({ kind: 'version' });
  });

  it('serves a model from a file, named after it unless it is said otherwise', () => {
    expect(parseCommand(['--gguf', 'models/tiny.gguf'])).toEqual({
      kind: 'gguf',
      settings: { ...DEFAULT_GGUF_SETTINGS, gguf: 'models/tiny.gguf', model: 'tiny' },
    });
    const flags = ['--gguf=a.gguf', '--model', 'b', '--context', '512', '--slots', '2', '--threads', '3'];
    expect(parseCommand(flags)).toMatchObject({
      settings: { model: 'b', context: 512, slots: 2, threads: 3 },
    });
  });

  it.each([
    [['--gguf', 'a.gguf', '--tps', '9'], '--tps is for the simulated model only'],
    [['--gguf', 'a.gguf', '--script', 'calls=1'], '--script is for the simulated model only'],
    [['--threads', '2'], '--threads is for models of --gguf only'],
    [['--gguf='], '--gguf must not be empty'],
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
      'gguf',
      'threads',
    ]) {
      expect(helpText()).toMatch(new RegExp(`--${flag} .*\\(default .+\\)`));
    }
  });
});
