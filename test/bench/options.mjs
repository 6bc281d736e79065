import { parseArgs } from 'node:util';

/**
 * The command line of a benchmark. `--help` prints the help and ends it; a mistake is named on stderr, status 2.
 * @param options name to its text default, `undefined` for none, or `false` for one that takes no value
 */
export function readOptions(help, options) {
  const described = Object.entries({ ...options, help: false }).map(([name, fallback]) => [
    name,
    fallback === false
      ? { type: 'boolean', default: false }
      : { type: 'string', ...(fallback !== undefined && { default: fallback }) },
  ]);
  let values;
  try {
    ({ values } = parseArgs({ options: Object.fromEntries(described) }));
  } catch (thrown) {
    process.stderr.write(`${thrown.message}\n\n${help}`);
    process.exit(2);
  }
  if (values.help) {
    process.stdout.write(help);
    process.exit(0);
  }
  return values;
}
