import { base64 } from "./base64.ts";

/** The shape of one service's API keys. */
export interface KeyShape {
  readonly prefix: string;
  /** The least number of characters after the prefix: letters, digits, `_` and `-`. */
  readonly least: number;
  /**
   * Ordinary names begin with this prefix too (`sk-learn`, `npm_config`). A key must have a digit or a capital among the 24
   * characters after it.
   */
  readonly isWord?: boolean | undefined;
  /** Only capitals and digits follow the prefix. */
  readonly isUpper?: boolean | undefined;
}

const shapes = (least: number, ...prefixes: readonly string[]): readonly KeyShape[] =>
  prefixes.map((prefix) => Object.freeze({ prefix, least }));
const words = (least: number, ...prefixes: readonly string[]): readonly KeyShape[] =>
  prefixes.map((prefix) => Object.freeze({ prefix, least, isWord: true }));

/** API keys of common services, recognised by their prefix. */
export const KEY_SHAPES: readonly KeyShape[] = Object.freeze([
  // OpenAI, Anthropic and services that use the same prefix
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

// The texts may be of any length. A counted repeat such as `x{8,}`, or a repeat of a group, overflows the regular expression
// engine after some millions of characters: hence `x{8}x*`, and an upper bound for groups.

/** The least number of characters after a prefix that is taken for a key in error messages and records. */
const MIN_KEY_CHARS = 8;
const RANDOM = String.raw`(?=[\w-]{0,23}[A-Z\d])`;
const KEY = String.raw`[\w-]{${MIN_KEY_CHARS}}[\w-]*`;

function source({ prefix, least, isWord, isUpper }: KeyShape): string {
  const begin = prefix.replaceAll(".", String.raw`\.`);
  if (isUpper === true) return String.raw`${begin}[A-Z\d]{${least}}[A-Z\d]*`;
  return String.raw`${begin}${isWord === true ? RANDOM : ""}${KEY}`;
}

const KEYS = new RegExp(
  String.raw`\b(?:${KEY_SHAPES.map(source).join("|")}|(?:sk|pk|rk|key)[-_]${RANDOM}${KEY})(?:\.${KEY}){0,100}`,
  "g",
);
/** Must not begin inside a word: otherwise each part of a long word would be scanned to its end. */
const JWT = /(?<![\w-])eyJ[\w-]{8}[\w-]*\.[\w-]{4}[\w-]*(?:\.[\w-]*){0,100}/g;
const PEM =
  /-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]*(?:-(?!----)[^-]*){0,10000}-----END [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z\d+/=\s\\]*)/g;
const BEARER = /\b(Bearer)\s+[\w.~+/=-]{6}[\w.~+/=-]*/gi;
/**
 * Base64, recognised by a digit, `=` or two changes from small letters to capitals: the word "basic" is mostly not followed by a
 * secret.
 */
const BASIC =
  /\b([Bb][Aa][Ss][Ii][Cc])\s+(?=[A-Za-z]{0,60}[\d=]|(?:[A-Z]{0,60}[a-z]{1,60}[A-Z]){2})[\w+/=-]{6}[\w+/=-]*/g;
const IN_ADDRESS = /(\/\/)[^\s/@"'\\]{1,300}@/g;
const IN_QUERY =
  /([?&;](?:[a-z_-]{0,20}(?:key|token|secret|signature|password|passwd|credential)|sig|code|auth)=)[^\s&"'\\#]+/gi;

/**
 * Patterns for anything that looks like a secret, each with its replacement. Meant for error messages and records: they rather
 * remove too much than too little, except for words that only begin like a key. Each pattern runs in linear time.
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

/** Shorter secrets are compared letter by letter: in any case they would match ordinary words. */
const ANY_CASE_CHARS = 6;

/**
 * Makes a function that puts `hidden` in the place of each secret, in any of its `secretForms` and any letter case. Applying it twice
 * changes nothing more.
 */
export function secretRemover(secrets: Iterable<string>, hidden: string): (text: string) => string {
  const forms = new Map<string, boolean>();
  for (const secret of secrets) {
    const inAnyCase = secret.length >= ANY_CASE_CHARS;
    for (const form of secretForms(secret)) forms.set(inAnyCase ? lowered(form) : form, inAnyCase);
  }
  forms.delete("");
  // The longest first: replacing a shorter secret that is part of a longer one would leave the rest of it.
  const known = [...forms].toSorted(([a], [b]) => b.length - a.length);
  return (text) => {
    const low = known.length === 0 ? "" : lowered(text);
    const found = known.filter(([form, inAnyCase]) => (inAnyCase ? low : text).includes(form));
    if (found.length === 0) return text;
    let pieces = split({ text, low }, hidden, false);
    for (const [form, inAnyCase] of found) pieces = pieces.flatMap((piece) => split(piece, form, inAnyCase));
    return pieces.map((piece) => piece.text).join(hidden);
  };
}

/** A part of a text, also in small letters. */
interface Piece {
  readonly text: string;
  readonly low: string;
}

/** Not by a regular expression of the secret: the engine refuses a long one with an error that shows it. */
function split({ text, low }: Piece, form: string, inAnyCase: boolean): readonly Piece[] {
  const pieces: Piece[] = [];
  const searched = inAnyCase ? low : text;
  let from = 0;
  for (let at = searched.indexOf(form); at !== -1; at = searched.indexOf(form, from)) {
    pieces.push({ text: text.slice(from, at), low: low.slice(from, at) });
    from = at + form.length;
  }
  return [...pieces, { text: text.slice(from), low: low.slice(from) }];
}

/** In small letters, each as long as it was: of two letters, the small form is longer, or depends on what comes next. */
function lowered(text: string): string {
  return text.replaceAll("\u0130", "i").replaceAll("\u03A3", "\u03C3").toLowerCase();
}

/** The forms in which a secret may appear: as it is, in a URL, in a form, in JSON, and in base64. */
export function secretForms(secret: string): readonly string[] {
  const whole = secret.toWellFormed();
  const inUrl = encodeURIComponent(whole);
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inBase64 = base64(whole);
  const unpadded = inBase64.replaceAll("=", "");
  return [
    secret,
    inUrl,
    // Languages differ in which marks they encode, and some servers encode every mark.
    escaped(inUrl, /[!'()*]/g),
    escaped(inUrl, /[-_.!~*'()]/g),
    escaped(inUrl, /[!'()~]/g).replaceAll("%20", "+"),
    encodeURI(whole),
    inJson,
    inJson.replaceAll("/", String.raw`\/`),
    // Go, Python, PHP, .NET and whoever writes every character so.
    jsonEscaped(inJson, /[<>&]/g),
    jsonEscaped(inJson, BEYOND_ASCII),
    jsonEscaped(inJson, BEYOND_ASCII).replaceAll("/", String.raw`\/`),
    jsonEscaped(secret, /[^ -~]|["'<>&+`]/g),
    jsonEscaped(secret, /[^]/g),
    inBase64,
    unpadded,
    unpadded.replaceAll("+", "-").replaceAll("/", "_"),
  ];
}

const BEYOND_ASCII = /[^ -~]/g;

function jsonEscaped(text: string, characters: RegExp): string {
  return text.replaceAll(characters, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function escaped(text: string, marks: RegExp): string {
  return text.replaceAll(marks, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
