import { readEscapes } from "./escapes.ts";
import { plainText } from "../clean/plain.ts";

/** The maximum that is read; of a longer text, the beginning and the end. */
const MAX_LENGTH = 200_000;

const IGNORE_VERBS = new Set(["ignore", "disregard", "forget", "override", "bypass", "neglect", "discard"]);
const QUALIFIERS = new Set([
  "previous",
  "prior",
  "above",
  "earlier",
  "preceding",
  "all",
  "any",
  "your",
  "system",
  "original",
  "these",
  "the",
]);
const INSTRUCTION_NOUNS = new Set([
  "instructions",
  "instruction",
  "rules",
  "rule",
  "prompt",
  "prompts",
  "guidelines",
  "directives",
  "commands",
  "programming",
  "restrictions",
]);
const REVEAL_VERBS = new Set([
  "reveal",
  "print",
  "show",
  "repeat",
  "output",
  "leak",
  "display",
  "dump",
  "expose",
]);

/** Phrases in lower case, each with its weight. */
const PHRASES: readonly (readonly [string, number])[] = [
  ["developer mode", 0.4],
  ["jailbreak", 0.4],
  ["do anything now", 0.6],
  ["you are now", 0.3],
  ["from now on you", 0.35],
  ["pretend to be", 0.2],
  ["act as if", 0.15],
  ["new instructions", 0.35],
  ["without any restrictions", 0.4],
  ["no longer bound", 0.5],
  ["do not tell the user", 0.5],
  ["do not mention this", 0.4],
  ["without telling the user", 0.5],
  ["system override", 0.6],
  ["admin override", 0.6],
  ["end of system prompt", 0.6],
];

/** Markers of chat formats, which have no place inside of a message. */
const MARKERS: readonly (readonly [string, number])[] = [
  ["<|im_start|>", 0.7],
  ["<|im_end|>", 0.5],
  ["<|system|>", 0.7],
  ["<|endoftext|>", 0.6],
  ["[inst]", 0.5],
  ["<<sys>>", 0.7],
  ["\nsystem:", 0.3],
  ["### system", 0.4],
  ["</system>", 0.5],
  ["<system>", 0.4],
];

/**
 * How much a text looks like an attempt to give a model other instructions: from 0 (not at all) to 1 (certainly). Linear in its
 * length.
 */
export function injectionScore(text: string): number {
  const cut =
    text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH / 2)}\n${text.slice(-MAX_LENGTH / 2)}` : text;
  const read = readEscapes(cut, true).text;
  // Tool results are JSON, in which the letter of an escape is directly before a word. In other texts it may belong to the word.
  // So both readings are scored.
  return read === cut ? scoreOf(cut) : Math.max(scoreOf(cut), scoreOf(read));
}

/** Tags repeat the characters of ASCII. Nobody sees them, but a model reads what they say. */
const TAGS = /[\u{e0020}-\u{e007e}]/gu;

function untagged(text: string): string {
  return text.replace(TAGS, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - 0xe0000));
}

function scoreOf(text: string): number {
  const plain = plainText(untagged(text)).toLowerCase();
  const words = plain.split(/[^\p{L}\p{N}]+/u);
  const spaced = ` ${words.join(" ")} `;
  const weights = [
    ...(asksToIgnore(words) ? [0.8] : []),
    ...(asksForPrompt(words) ? [0.6] : []),
    ...PHRASES.flatMap(([phrase, weight]) => (spaced.includes(` ${phrase} `) ? [weight] : [])),
    ...MARKERS.flatMap(([marker, weight]) => (plain.includes(marker) ? [weight] : [])),
  ];
  // Each sign reduces the doubt by its weight; what is left is the product.
  return 1 - weights.reduce((doubt, weight) => doubt * (1 - weight), 1);
}

/** "Ignore all the previous instructions": the noun is within six words after the verb. */
function asksToIgnore(words: readonly string[]): boolean {
  return words.some((word, at) => {
    if (!IGNORE_VERBS.has(word)) return false;
    const after = words.slice(at + 1, at + 7);
    const noun = after.findIndex((other) => INSTRUCTION_NOUNS.has(other));
    return noun > 0 && after.slice(0, noun).some((other) => QUALIFIERS.has(other));
  });
}

/** "Reveal your system prompt": within six words after the verb. */
function asksForPrompt(words: readonly string[]): boolean {
  return words.some((word, at) => {
    if (!REVEAL_VERBS.has(word)) return false;
    const after = words.slice(at + 1, at + 7).join(" ");
    return (
      after.includes("system prompt") ||
      after.includes("your instructions") ||
      after.includes("initial prompt")
    );
  });
}
