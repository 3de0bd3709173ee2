import type { ContentPart, RunContext, StandardSchema, Tool, UserMessage } from "@ravi/kernel";
import type { ExtensionHost } from "../extensions/host.ts";
import type { EphemeralSource, LiveState } from "../prompt/ephemeral.ts";

const ANYTHING: StandardSchema = Object.freeze({
  "~standard": Object.freeze({
    version: 1,
    vendor: "ravi",
    validate: (value: unknown) => ({ value }),
    jsonSchema: Object.freeze({ input: () => ({ type: "object" }), output: () => ({ type: "object" }) }),
  }),
});

const NAME = "session_live_state";

/**
 * What the sources show now, as messages for one model call. A look is an effect and goes through the context: a resumed
 * run then sees what was seen, and not what is there today.
 */
export async function lookAround(
  ctx: RunContext,
  sources: readonly EphemeralSource[],
  host: ExtensionHost,
): Promise<readonly UserMessage[]> {
  if (sources.length === 0) return [];
  const tool: Tool<unknown, { readonly seen: readonly UserMessage[] }> = {
    name: NAME,
    description: "Looks at live state.",
    input: ANYTHING,
    idempotent: true,
    execute: async () => ({ seen: await look(sources, host) }),
  };
  const { content, isError } = await ctx.tool({ id: NAME, name: NAME, arguments: "{}" }, tool);
  if (!isError && typeof content === "string")
    return (JSON.parse(content) as { seen: readonly UserMessage[] }).seen;
  host.collect({ source: NAME, event: "look", error: content });
  return [];
}

async function look(sources: readonly EphemeralSource[], host: ExtensionHost): Promise<UserMessage[]> {
  const seen: UserMessage[] = [];
  for (const source of sources) {
    try {
      const state = await source.look();
      if (state !== undefined) seen.push({ role: "user", content: shown(source.name, state) });
    } catch (error) {
      host.collect({ source: source.name, event: "look", error });
    }
  }
  return seen;
}

function shown(name: string, state: LiveState): string | readonly ContentPart[] {
  const title = `[${name}, as it is now]`;
  return typeof state === "string" ? `${title}\n${state}` : [{ type: "text", text: title }, ...state];
}
