import { parseArgs } from 'node:util';
import { ConfigError } from './config/load.js';

export const HELP = `turnpike - OpenAI's Responses API with WebSocket mode, in front of your inference servers

Usage: npm start -- [options]

Options:
  --config FILE   YAML configuration (see turnpike.example.yaml); without engines and models
                  in it, the built-in scripted model is served as 'sim', and engines
                  that run on this machine are looked for
  --sim="ARGS"    options for the built-in engine, quoted as in a shell:
                  --sim="--tps 200 --script 'calls=2 reason=0'"
  --help          show this text
  --version       show the version

Environment:
  PORT            port to listen on (8686)
  HOST            address to bind to (127.0.0.1); other addresses need keys in the configuration
  LOG_LEVEL       debug, info, warn, error or silent (info)
`;

export interface Arguments {
  readonly config: string | undefined;
  /** Arguments for the built-in engine; none when it was not asked for. */
  readonly sim: readonly string[];
  readonly help: boolean;
  readonly version: boolean;
}

/**
 * The command line.
 * @throws ConfigError for an option that does not exist
 */
export function parseArguments(argv: readonly string[]): Arguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        config: { type: 'string' },
        sim: { type: 'string', default: '' },
        help: { type: 'boolean', default: false },
        version: { type: 'boolean', default: false },
      },
    });
    return {
      config: values.config,
      sim: wordsOf(values.sim),
      help: values.help,
      version: values.version,
    };
  } catch (thrown) {
    throw new ConfigError(`${(thrown as Error).message}\n\n${HELP}`);
  }
}

/** Quoted runs and everything else that is no blank; several side by side are one word. */
const WORD = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/**
 * Words as a shell would see them; quotes keep blanks together.
 * @throws Error for a quote that is not closed
 */
function wordsOf(text: string): string[] {
  if (text.replace(WORD, '').trim() !== '') throw new Error('--sim has a quote that is not closed');
  return [...text.matchAll(WORD)].map(([word]) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}
