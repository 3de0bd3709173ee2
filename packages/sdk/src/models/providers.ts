import { InvalidValueError, type LLMClient } from "@ravi/kernel";

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
    const { anthropic } = await installed("@ravi/provider-anthropic", import("@ravi/provider-anthropic"));
    return anthropic(name, options);
  },
});

/** An optional peer that is not there is a matter of one command. */
async function installed<M>(name: string, loading: Promise<M>): Promise<M> {
  try {
    return await loading;
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    const expected = `an installed package; npm install ${name}`;
    throw new InvalidValueError({ field: name, value: "missing", expected, cause });
  }
}

function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ERR_MODULE_NOT_FOUND" &&
    error.message.includes(name)
  );
}
