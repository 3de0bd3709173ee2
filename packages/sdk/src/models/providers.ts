import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import type { anthropic } from "@ravi/provider-anthropic";

/** What every provider takes; the rest is set on its own package's function. */
export interface ProviderOptions {
  /** Default: that of the environment, `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`, read at the first call. */
  readonly apiKey?: string | undefined;
  /** Another server that speaks the same protocol. */
  readonly baseURL?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
}

type Load = (name: string, options: ProviderOptions) => Promise<LLMClient>;

/** Each is imported when its first model is called. */
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
    // In here and not handed over: only what stands in a `try` may be missing when a bundler reads it.
    return await import("@ravi/provider-anthropic");
  } catch (cause) {
    throw peerFailure("@ravi/provider-anthropic", cause);
  }
}

/** An optional peer that is not there is a matter of one command. */
export function peerFailure(name: string, cause: unknown): unknown {
  if (!isMissing(cause, name)) return cause;
  const expected = `an installed package; npm install ${name}`;
  return new InvalidValueError({ field: name, value: "missing", expected, cause });
}

/** As Node says it, and what webpack, Vite and browsers say of a module that was not there when it was bundled. */
const MISSING =
  /cannot find (?:module|package)|could not resolve|failed to resolve|does not resolve|bare specifier/i;

/** What is missing is named first; who wanted it, after it. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error) || !MISSING.test(error.message)) return false;
  const [, first] = /['"“]([^'"”]*)['"”]/.exec(error.message) ?? [];
  return first === name;
}
