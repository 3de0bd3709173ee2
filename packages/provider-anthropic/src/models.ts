/** What is known of Anthropic's models before they are called. */
export interface KnownModel {
  readonly contextWindow?: number | undefined;
  /** How it is told to think: it decides by itself, or it is given a number of tokens. */
  readonly thinking: "adaptive" | "budget";
}

const ADAPTIVE: KnownModel = Object.freeze({ contextWindow: 1_000_000, thinking: "adaptive" });
const BUDGET: KnownModel = Object.freeze({ contextWindow: 200_000, thinking: "budget" });
/** A model that came after this was written is more like the newest than like the oldest. */
const UNKNOWN: KnownModel = Object.freeze({ thinking: "adaptive" });

/** By family and version; platforms put their own words around the name and a date behind it. */
const GENERATIONS: readonly (readonly [RegExp, KnownModel])[] = [
  [/claude-(?:haiku|sonnet|opus)-4-5(?!\d)/, BUDGET],
  [/claude-(?:sonnet|opus)-4-[678](?!\d)/, ADAPTIVE],
  [/claude-(?:haiku|sonnet|opus|fable|mythos)-5(?:-\d)?(?!\d)/, ADAPTIVE],
];

export function knownModel(name: string): KnownModel {
  return GENERATIONS.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}
