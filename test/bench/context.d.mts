/** About `tokens` tokens of code, prose and Korean, the same for the same seed. */
export function contextText(tokens: number, seed: number): string;
