import { ConsoleLogger } from '@nestjs/common';

/** Where Nest reports what it is about to throw. */
const REPORTED = 'ExceptionHandler';

/** What Nest has to say, without what it throws as well: that is shown once, by whoever starts the application. */
export class NestLogger extends ConsoleLogger {
  constructor() {
    super({ logLevels: ['error', 'warn', 'fatal'] });
  }

  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) !== REPORTED) super.error(message, ...rest);
  }
}
