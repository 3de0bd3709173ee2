/** What is known of Anthropic's models before they are called. */
export interface KnownModel {
  readonly contextWindow?: number | undefined;
  /** How the model is told to think: it decides itself (`adaptive`), or gets a number of tokens (`budget`). */
  readonly thinking: "adaptive" | "budget";
}

const ADAPTIVE: KnownModel = Object.freeze({ contextWindow: 1_000_000, thinking: "adaptive" });
const BUDGET: KnownModel = Object.freeze({ contextWindow: 200_000, thinking: "budget" });
/** A model that is newer than this list resembles the newest ones. */
const UNKNOWN: KnownModel = Object.freeze({ thinking: "adaptive" });

/** By family and version. Platforms put their own prefix before the name and a date after it. */
const GENERATIONS: readonly (readonly [RegExp, KnownModel])[] = [
  [/claude-(?:haiku|sonnet|opus)-4-5(?!\d)/, BUDGET],
  [/claude-(?:sonnet|opus)-4-[678](?!\d)/, ADAPTIVE],
  [/claude-(?:haiku|sonnet|opus|fable|mythos)-5(?:-\d)?(?!\d)/, ADAPTIVE],
];

export function knownModel(name: string): KnownModel {
  return GENERATIONS.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}
