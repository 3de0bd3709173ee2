import { base64 } from "./base64.ts";

/** How the keys of one service look. */
export interface KeyShape {
  readonly prefix: string;
  /** How many characters must follow at least: letters, digits, `_` and `-`. */
  readonly least: number;
  /** Ordinary names begin so too (`sk-learn`, `npm_config`): a key has a digit or a capital among the first 24 characters. */
  readonly isWord?: boolean | undefined;
  /** Nothing but capitals and digits follows. */
  readonly isUpper?: boolean | undefined;
}

const shapes = (least: number, ...prefixes: readonly string[]): readonly KeyShape[] =>
  prefixes.map((prefix) => Object.freeze({ prefix, least }));
const words = (least: number, ...prefixes: readonly string[]): readonly KeyShape[] =>
  prefixes.map((prefix) => Object.freeze({ prefix, least, isWord: true }));

/** Keys of common services, by how they begin. */
export const KEY_SHAPES: readonly KeyShape[] = Object.freeze([
  // OpenAI, Anthropic and whoever followed them
  ...words(16, "sk-"),
  // Groq, xAI, Perplexity, Replicate, Hugging Face, Fireworks, Cerebras, Tavily, NVIDIA
  ...words(16, "gsk_", "xai-", "pplx-", "r8_", "fw_", "csk-", "tvly-", "nvapi-"),
  ...words(24, "hf_"),
  // Google
  ...shapes(30, "AIza"),
  ...shapes(20, "ya29."),
  // Stripe, SendGrid
  ...shapes(16, "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_"),
  ...shapes(20, "SG."),
  // AWS
  ...["AKIA", "ASIA"].map((prefix) => Object.freeze({ prefix, least: 16, isUpper: true })),
  // GitHub, GitLab, npm
  ...shapes(20, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
  ...shapes(16, "glpat-"),
  ...words(30, "npm_"),
  // Slack
  ...shapes(10, "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
]);

// Texts may be as long as a server likes. Repeats that are counted, or made of more than one sign, run out of room after some
// millions: hence `x{8}x*` for `x{8,}`, and an end for the others.

/** So many characters after a key's prefix are enough in texts that nobody reads for pleasure. */
const LEAST = 8;
const RANDOM = String.raw`(?=[\w-]{0,23}[A-Z\d])`;
const KEY = String.raw`[\w-]{${LEAST}}[\w-]*`;

function source({ prefix, least, isWord, isUpper }: KeyShape): string {
  const begin = prefix.replaceAll(".", String.raw`\.`);
  if (isUpper === true) return String.raw`${begin}[A-Z\d]{${least}}[A-Z\d]*`;
  return String.raw`${begin}${isWord === true ? RANDOM : ""}${KEY}`;
}

const KEYS = new RegExp(
  String.raw`\b(?:${KEY_SHAPES.map(source).join("|")}|(?:sk|pk|rk|key)[-_]${RANDOM}${KEY})(?:\.${KEY}){0,100}`,
  "g",
);
/** Not from inside of a word, or each of its parts would be read to the end of all. */
const JWT = /(?<![\w-])eyJ[\w-]{8}[\w-]*\.[\w-]{4}[\w-]*(?:\.[\w-]*){0,100}/g;
const PEM =
  /-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]*(?:-(?!----)[^-]*){0,10000}-----END [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z\d+/=\s\\]*)/g;
const BEARER = /\b(Bearer)\s+[\w.~+/=-]{6}[\w.~+/=-]*/gi;
/** Base64, by a digit, its end or two capitals inside: what is basic is mostly not a key. */
const BASIC =
  /\b([Bb][Aa][Ss][Ii][Cc])\s+(?=[A-Za-z]{0,60}[\d=]|(?:[A-Z]{0,60}[a-z]{1,60}[A-Z]){2})[\w+/=-]{6}[\w+/=-]*/g;
const IN_ADDRESS = /(\/\/)[^\s/@"'\\]{1,300}@/g;
const IN_QUERY =
  /([?&;](?:[a-z_-]{0,20}(?:key|token|secret|signature|password|passwd|credential)|sig|code|auth)=)[^\s&"'\\#]+/gi;

/**
 * What looks like a secret, whosever it is, and what to put in its place. For texts of errors and of records: a little too much
 * is taken rather than too little, but for words that only begin like a key. Each pattern is linear.
 */
export function secretPatterns(hidden: string): readonly (readonly [pattern: RegExp, instead: string])[] {
  return [
    [PEM, hidden],
    [JWT, hidden],
    [KEYS, hidden],
    [BEARER, `$1 ${hidden}`],
    [BASIC, `$1 ${hidden}`],
    [IN_QUERY, `$1${hidden}`],
    [IN_ADDRESS, `$1${hidden}@`],
  ];
}

/** A secret as it stands in a header, a URL, a JSON text or Basic authentication. */
export function secretForms(secret: string): readonly string[] {
  const whole = secret.toWellFormed();
  return [
    secret,
    encodeURIComponent(whole),
    encodeURI(whole),
    JSON.stringify(secret).slice(1, -1),
    base64(whole),
  ];
}
