import type { CacheControlEphemeral, ContentBlockParam } from "@anthropic-ai/sdk/resources/messages";
import { isThinkingBlock, type Turn } from "./conversation.ts";

interface Markable {
  cache_control?: CacheControlEphemeral | null;
}

/** The cache mark for a lifetime; undefined if caching is off. */
export function cacheControl(cache: "5m" | "1h" | false): CacheControlEphemeral | undefined {
  if (cache === false) return undefined;
  return cache === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" };
}

/** Marks the last item of a list, so that everything up to it is cached. */
export function markLast<T extends Markable>(
  items: readonly T[],
  control: CacheControlEphemeral | undefined,
): T[] {
  return control === undefined
    ? [...items]
    : items.map((item, at) => (at === items.length - 1 ? { ...item, cache_control: control } : item));
}

/**
 * Marks the end of the conversation and the end of what was sent the last time. The server looks for a cached prefix only about
 * twenty blocks back, and one turn of parallel calls can be longer than that.
 */
export function markTurns(
  turns: readonly Turn[],
  control: CacheControlEphemeral | undefined,
): readonly Turn[] {
  if (control === undefined) return turns;
  const userTurns = turns.flatMap((turn, at) => (turn.role === "user" ? [at] : []));
  const marked = new Set([...userTurns.slice(-2), turns.length - 1]);
  return turns.map((turn, at) => (marked.has(at) ? markTurn(turn, control) : turn));
}

function markTurn(turn: Turn, control: CacheControlEphemeral): Turn {
  const at = turn.content.findLastIndex((block) => !isThinkingBlock(block));
  const content = turn.content.map((block, index): ContentBlockParam => {
    if (index !== at || block.type === "thinking" || block.type === "redacted_thinking") return block;
    return { ...block, cache_control: control };
  });
  return { ...turn, content };
}
