import Libsql from 'libsql';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** SQLite's codes for a file that another connection holds. */
const TAKEN = /^SQLITE_(BUSY|LOCKED)/;

/**
 * Who owns a log. The operating system takes the lock back when its process ends, however that ends, so that there is
 * nothing to wait for and no clock to trust; it holds between containers of one machine that share a volume. Node has no
 * file locks of its own: SQLite's are used, on an empty database.
 */
export class FolderLock {
  readonly #database: Libsql.Database;

  private constructor(database: Libsql.Database) {
    this.#database = database;
  }

  /**
   * @returns undefined when somebody who lives has it, or has removed the folder
   * @throws Error when the folder cannot be written to
   */
  static take(folder: string): FolderLock | undefined {
    const path = join(folder, 'lock');
    const database = new Libsql(path, { timeout: 0 });
    try {
      database.exec('begin exclusive');
      // A folder is removed by who holds its lock: a file that is gone locks nothing.
      if (existsSync(path)) return new FolderLock(database);
      database.close();
      return undefined;
    } catch (thrown) {
      database.close();
      if (TAKEN.test(String((thrown as { code?: unknown }).code))) return undefined;
      throw thrown;
    }
  }

  release(): void {
    this.#database.close();
  }
}
