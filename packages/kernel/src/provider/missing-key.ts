import { InvalidValueError } from "../errors/errors.ts";

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

/** An official client refuses a key in a browser. Its error then says what to do instead; any other is returned as it is. */
export function keyInBrowser(cause: unknown): unknown {
  if (!String(cause).includes("browser")) return cause;
  const expected =
    "none in a browser, where every visitor can read it: let baseURL point to a server of yours that adds the key";
  return new InvalidValueError({ field: "apiKey", value: "(hidden)", expected, cause });
}
