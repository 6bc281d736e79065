import { openRun } from './runs.js';

/** How much of what is written may still go on: a run of letters and digits, or a number with its separators. */
export class OpenEnd {
  #run = 0;
  #number = 0;
  #hasDigit = false;

  /** Characters that may go on. */
  get length(): number {
    return Math.max(this.#run, this.#hasDigit ? this.#number : 0);
  }

  add(text: string): void {
    const run = text.length - openRun(text);
    this.#run = run === text.length ? this.#run + run : run;
    let start = text.length;
    while (start > 0 && isOfNumber(text.charCodeAt(start - 1))) start -= 1;
    const hasDigit = /\d/.test(text.slice(start));
    this.#number = start === 0 ? this.#number + text.length : text.length - start;
    this.#hasDigit = hasDigit || (start === 0 && this.#hasDigit);
  }
}

/** Digits, blanks and hyphens. */
function isOfNumber(unit: number): boolean {
  return (unit >= 48 && unit <= 57) || unit === 32 || unit === 45;
}
