import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import type { anthropic } from "@ravi/provider-anthropic";
import { checkAnthropicOptions, checkOpenAIOptions } from "./check-options.ts";
import type { ProviderOptions } from "../options.ts";

/** A provider that is named by a prefix. */
export interface Provider {
  /** The names of the options that only this provider has. */
  readonly options: readonly (keyof ProviderOptions)[];
  /** Throws an `InvalidValueError` if one of the options that only this provider has is wrong. */
  readonly check: (options: ProviderOptions) => void;
  readonly load: (name: string, options: ProviderOptions) => Promise<LLMClient>;
}

/** The names of the options that every provider has. */
export const OF_ALL = [
  "apiKey",
  "baseURL",
  "headers",
  "provider",
  "idleTimeoutMs",
  "maxResponseBytes",
  "contextWindow",
  "maxOutputTokens",
  "fetch",
  "clock",
  "logger",
] as const satisfies readonly (keyof ProviderOptions)[];

/**
 * The provider's package is imported at the first call of one of its models. A literal without any call, so that a bundler leaves it out,
 * and the providers with it, if a program needs no models.
 */
export const BUILT_IN: Readonly<Record<string, Provider>> = {
  openai: {
    options: ["api", "organization", "project"],
    check: checkOpenAIOptions,
    load: async (name: string, options: ProviderOptions) => {
      const { openai } = await import("@ravi/provider-openai");
      return openai(name, options);
    },
  },
  anthropic: {
    options: ["apiVersion", "cache", "thinking"],
    check: checkAnthropicOptions,
    load: async (name: string, options: ProviderOptions) => {
      const provider = await loadAnthropic();
      return provider.anthropic(name, options);
    },
  },
};

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
  const message = messageOf(error);
  if (!MISSING.test(message)) return false;
  const [, first] = /['"“]([^'"”]*)['"”]/.exec(message) ?? [];
  return first === name;
}
