/** Where a provider looks for its key. */
export interface KeyPlaces {
  /** As people call it: `OpenAI`. */
  readonly provider: string;
  /** The variables of the environment, the usual one first. */
  readonly variables: readonly string[];
  /** Where the option `apiKey` is given: `as in openai(model, { apiKey })`. */
  readonly option: string;
}

/** What was expected where a key is missing, in the same words for every provider: whose key, where it is looked for, what to do. */
export function missingKey({ provider, variables, option }: KeyPlaces): string {
  return `a key for ${provider}: set ${variables.join(" or ")} in the environment, or pass the option apiKey, ${option}`;
}
