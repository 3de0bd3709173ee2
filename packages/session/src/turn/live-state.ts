import {
  type ContentPart,
  InvalidValueError,
  type JsonValue,
  type RunContext,
  type UserMessage,
} from "@ravi/kernel";
import type { ExtensionHost } from "../extensions/host.ts";
import { isContent } from "../extensions/results.ts";
import type { EphemeralSource, LiveState } from "../prompt/ephemeral.ts";

/**
 * What the sources show now, as messages for one model call. A look is a fact of the run: a resumed one then sees what was
 * seen, and not what is there today.
 */
export async function lookAround(
  ctx: RunContext,
  sources: readonly EphemeralSource[],
  host: ExtensionHost,
): Promise<readonly UserMessage[]> {
  if (sources.length === 0) return [];
  return (await ctx.record("session_live_state", () => look(sources, host))) as readonly UserMessage[];
}

async function look(sources: readonly EphemeralSource[], host: ExtensionHost): Promise<JsonValue> {
  const seen: JsonValue[] = [];
  for (const source of sources) {
    try {
      const state = await source.look();
      if (state === undefined) continue;
      if (!isContent(state)) throw wrong(source.name, state);
      // As a record keeps it; what is no JSON is its own source's fault.
      const content = JSON.parse(JSON.stringify(shown(source.name, state))) as JsonValue;
      seen.push({ role: "user", content });
    } catch (error) {
      host.collect({ source: source.name, event: "look", error });
    }
  }
  return seen;
}

/** A provider would refuse the whole request, in words that name nobody. */
function wrong(name: string, value: unknown): InvalidValueError {
  const expected = "a text, a list of content parts, or undefined";
  return new InvalidValueError({ field: `${name}: look()`, value, expected });
}

function shown(name: string, state: LiveState): string | readonly ContentPart[] {
  const title = `[${name}, as it is now]`;
  return typeof state === "string" ? `${title}\n${state}` : [{ type: "text", text: title }, ...state];
}
