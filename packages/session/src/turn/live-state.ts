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
 * What the sources show now, as messages for one model call. It is recorded with the run, so that a resumed run sees what was
 * seen then and not the present state.
 */
export async function readLiveState(
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
      if (!isContent(state)) {
        // Reported here, because a provider would refuse the whole request without naming the source.
        const expected = "a string, an array of content parts, or undefined";
        throw new InvalidValueError({ field: `${source.name}: look()`, value: state, expected });
      }
      // A copy, as the record will return it. If it is not JSON, the error is attributed to its source.
      const content = JSON.parse(JSON.stringify(withTitle(source.name, state))) as JsonValue;
      seen.push({ role: "user", content });
    } catch (error) {
      host.collect({ source: source.name, event: "look", error });
    }
  }
  return seen;
}

function withTitle(name: string, state: LiveState): string | readonly ContentPart[] {
  const title = `[${name}, as it is now]`;
  return typeof state === "string" ? `${title}\n${state}` : [{ type: "text", text: title }, ...state];
}
