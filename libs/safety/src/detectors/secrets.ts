/** A kind of key: what it begins with, and what has to follow. */
interface KeyForm {
  readonly prefix: string;
  /** Characters behind the prefix. */
  readonly least: number;
  readonly most?: number;
  readonly body: RegExp;
}

const ALNUM = /^[A-Za-z0-9]+$/;
const WORD = /^[A-Za-z0-9_-]+$/;
const UPPER = /^[A-Z0-9]+$/;

/** Sources: the services' own documentation and the patterns of GitHub's secret scanning. */
const KEYS: readonly KeyForm[] = [
  ...['AKIA', 'ASIA'].map((prefix) => ({ prefix, least: 16, most: 16, body: UPPER })),
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map((prefix) => ({ prefix, least: 36, body: ALNUM })),
  { prefix: 'github_pat_', least: 60, body: WORD },
  { prefix: 'glpat-', least: 20, body: WORD },
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-'].map((prefix) => ({ prefix, least: 24, body: WORD })),
  ...['sk-ant-', 'sk-proj-', 'sk-svcacct-'].map((prefix) => ({ prefix, least: 32, body: WORD })),
  { prefix: 'sk-', least: 32, body: ALNUM },
  { prefix: 'AIza', least: 35, most: 35, body: WORD },
  ...['sk_live_', 'rk_live_'].map((prefix) => ({ prefix, least: 24, body: ALNUM })),
  { prefix: 'npm_', least: 36, most: 36, body: ALNUM },
  { prefix: 'pypi-AgE', least: 60, body: WORD },
  { prefix: 'hf_', least: 34, body: ALNUM },
  { prefix: 'dop_v1_', least: 64, body: ALNUM },
];

/** Characters that a random key has at the least: documentation writes keys out of few. */
const DISTINCT = 12;

/** Characters of the shortest. */
const SHORTEST = Math.min(...KEYS.map(({ prefix, least }) => prefix.length + least));

/**
 * Whether a run of letters, digits, `+/_-` holds a key. Linear: each prefix is looked for once.
 * @param from what has been read before it has been seen
 */
export function holdsApiKey(run: string, from: number): boolean {
  if (run.length < SHORTEST) return false;
  return KEYS.some((form) => {
    for (
      let at = run.indexOf(form.prefix);
      at !== -1;
      at = run.indexOf(form.prefix, at + form.prefix.length)
    ) {
      if (at > 0 && ALNUM.test(run.charAt(at - 1))) continue;
      const start = at + form.prefix.length;
      const most = form.most ?? Math.max(form.least, MOST_READ);
      const body = run.slice(start, start + most);
      const isNew = start + body.length > from;
      if (isNew && body.length >= form.least && isKeyLike(body, form, run.charAt(start + most))) return true;
    }
    return false;
  });
}

/** Characters that tell whether a key of no fixed length is one. */
const MOST_READ = 64;

function isKeyLike(body: string, { body: allowed, most }: KeyForm, behind: string): boolean {
  if (most !== undefined && ALNUM.test(behind)) return false;
  return allowed.test(body) && new Set(body).size >= DISTINCT && !/example/i.test(body);
}

const PEM_HEADER = 'PRIVATE KEY-----';
/** Line breaks and PEM headers that may stand before the key itself. */
const BEFORE_KEY = 200;
/** Base64 characters of one line. */
const KEY_LINE = 40;

/**
 * Whether the text has a private key in PEM.
 * @param from one that is told by what ends before has been seen
 */
export function holdsPrivateKey(text: string, from: number): boolean {
  for (let at = text.indexOf(PEM_HEADER); at !== -1; at = text.indexOf(PEM_HEADER, at + PEM_HEADER.length)) {
    if (!text.slice(Math.max(0, at - 32), at).includes('-----BEGIN ')) continue;
    const begin = at + PEM_HEADER.length;
    let run = 0;
    for (let next = begin; next < text.length && next < begin + BEFORE_KEY; next += 1) {
      run = /[A-Za-z0-9+/]/.test(text.charAt(next)) ? run + 1 : 0;
      if (run >= KEY_LINE && next >= from) return true;
    }
  }
  return false;
}
