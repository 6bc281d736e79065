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

/** Whether a run of letters, digits, `+/_-` holds a key. Linear: each prefix is looked for once. */
export function holdsApiKey(run: string): boolean {
  return KEYS.some((form) => {
    for (
      let at = run.indexOf(form.prefix);
      at !== -1;
      at = run.indexOf(form.prefix, at + form.prefix.length)
    ) {
      if (at > 0 && ALNUM.test(run.charAt(at - 1))) continue;
      const start = at + form.prefix.length;
      const body = run.slice(start, start + (form.most ?? MOST_READ));
      if (body.length >= form.least && isKeyLike(body, form, run.charAt(start + (form.most ?? MOST_READ))))
        return true;
    }
    return false;
  });
}

/** No key is longer. */
const MOST_READ = 256;

function isKeyLike(body: string, { body: allowed, most, least }: KeyForm, behind: string): boolean {
  if (most !== undefined && ALNUM.test(behind)) return false;
  const read = most === undefined ? body.slice(0, Math.max(least, 64)) : body;
  return allowed.test(read) && new Set(read).size >= DISTINCT && !/example/i.test(read);
}

const PEM_HEADER = 'PRIVATE KEY-----';
/** Line breaks and PEM headers that may stand before the key itself. */
const BEFORE_KEY = 200;
/** Base64 characters of one line. */
const KEY_LINE = 40;

/** Whether the text has a private key in PEM. */
export function holdsPrivateKey(text: string): boolean {
  for (let at = text.indexOf(PEM_HEADER); at !== -1; at = text.indexOf(PEM_HEADER, at + PEM_HEADER.length)) {
    if (!text.slice(Math.max(0, at - 32), at).includes('-----BEGIN ')) continue;
    let run = 0;
    for (const character of text.slice(at + PEM_HEADER.length, at + PEM_HEADER.length + BEFORE_KEY)) {
      run = /[A-Za-z0-9+/]/.test(character) ? run + 1 : 0;
      if (run >= KEY_LINE) return true;
    }
  }
  return false;
}
