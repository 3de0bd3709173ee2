import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import type { anthropic } from "@ravi/provider-anthropic";

/**
 * Options that every provider takes. For others, use the function of the provider's own package and pass the client as `model`.
 */
export interface ProviderOptions {
  /** Default: `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` of the environment, read at the first call. */
  readonly apiKey?: string | undefined;
  /** The address of another server that speaks the same protocol. */
  readonly baseURL?: string | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Tokens that the model can take in one call, prompt and answer together. */
  readonly contextWindow?: number | undefined;
  /** The most tokens that the model can give in one answer. */
  readonly maxOutputTokens?: number | undefined;
}

type Load = (name: string, options: ProviderOptions) => Promise<LLMClient>;

/** The provider's package is imported at the first call of one of its models. */
export const BUILT_IN: Readonly<Record<string, Load>> = Object.freeze({
  openai: async (name: string, options: ProviderOptions) => {
    const { openai } = await import("@ravi/provider-openai");
    return openai(name, options);
  },
  anthropic: async (name: string, options: ProviderOptions) => {
    const provider = await loadAnthropic();
    return provider.anthropic(name, options);
  },
});

async function loadAnthropic(): Promise<{ readonly anthropic: typeof anthropic }> {
  try {
    // The import must stand literally inside this `try`: only then do bundlers accept that the package is missing.
    return await import("@ravi/provider-anthropic");
  } catch (cause) {
    throw peerFailure("@ravi/provider-anthropic", cause);
  }
}

/** If the optional package `name` is not installed, an error that gives the command to install it; otherwise `cause` itself. */
export function peerFailure(name: string, cause: unknown): unknown {
  if (!isMissing(cause, name)) return cause;
  const expected = `it to be installed: npm install ${name}`;
  return new InvalidValueError({ field: name, value: "missing", expected, cause });
}

/** The texts of Node, and of webpack, Vite and browsers for a module that was missing when the bundle was built. */
const MISSING =
  /cannot find (?:module|package)|could not resolve|failed to resolve|does not resolve|bare specifier/i;

/**
 * Such a message quotes the missing module first, then the importing file. Only the first one counts: `name` itself may be
 * installed while one of its own dependencies is missing.
 */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error) || !MISSING.test(error.message)) return false;
  const [, first] = /['"“]([^'"”]*)['"”]/.exec(error.message) ?? [];
  return first === name;
}
