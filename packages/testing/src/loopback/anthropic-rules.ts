import type { JsonObject, JsonValue } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";
import { wrong } from "./anthropic-fields.ts";
import type { Turn } from "./anthropic-messages.ts";

/** Refuses what the real server refuses in a conversation whose single messages are valid. */
export function checkTurns(all: readonly Turn[]): void {
  const turns = all.filter(({ role }) => role !== "system");
  const [first] = turns;
  if (first?.role !== "user") throw wrong("messages", 'first message must use the "user" role');
  if (turns.at(-1)?.role !== "user") {
    const problem =
      "This model does not support assistant message prefill. The conversation must end with a user message.";
    throw wrong("messages", problem);
  }
  const seen = new Set<string>();
  let open: string[] = [];
  for (const turn of turns) {
    if (turn.role === "user") checkResults(turn, open);
    open = turn.blocks.flatMap((block) => (block.type === "call" ? [block.call.id] : []));
    for (const id of open) {
      if (seen.has(id)) throw wrong("messages", "`tool_use` ids must be unique");
      seen.add(id);
    }
    const last = turn.blocks.at(-1);
    if (last?.type === "part" && last.isThought) {
      throw wrong(turn.path, "The final block in an assistant message cannot be `thinking`.");
    }
  }
}

/** All results must be at the beginning of the turn, one for each call. */
function checkResults({ blocks, path }: Turn, calls: readonly string[]): void {
  const waiting = new Set(calls);
  const leading = blocks.findIndex((block) => block.type !== "result");
  for (const [at, block] of blocks.entries()) {
    if (block.type !== "result") continue;
    if (leading !== -1 && at > leading) {
      throw wrong(`${path}.content.${at}`, "`tool_result` blocks must come before all other content");
    }
    if (!waiting.delete(block.id)) {
      const problem = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message, and only one.`;
      throw wrong(`${path}.content.${at}`, problem);
    }
  }
  if (waiting.size === 0) return;
  const problem = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...waiting].join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  throw wrong(path, problem);
}

/** A conversation with tool calls requires tools in the request. */
export function checkToolsThere(turns: readonly Turn[], tools: number): void {
  const hasCalls = turns.some(({ blocks }) => blocks.some(({ type }) => type !== "part"));
  if (hasCalls && tools === 0) {
    throw wrong(
      "tools",
      "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.",
    );
  }
}

/** With a thinking budget, the last assistant turn must begin with thinking if it has tool calls. */
export function checkThoughts(turns: readonly Turn[]): void {
  const turn = turns.findLast(({ role }) => role === "assistant");
  const [first] = turn?.blocks ?? [];
  if (turn === undefined || !turn.blocks.some(({ type }) => type === "call")) return;
  if (first?.type === "part" && first.isThought) return;
  const problem =
    "Expected `thinking` or `redacted_thinking`, but found something else. When `thinking` is enabled, a final assistant message must start with a thinking block.";
  throw wrong(`${turn.path}.content.0`, problem);
}

const MOST_MARKS = 4;

/** At most four blocks of a request may have `cache_control`. */
export function checkMarks(body: JsonObject): void {
  const found = countMarks(body["tools"]) + countMarks(body["system"]) + countMarks(body["messages"]);
  if (found <= MOST_MARKS) return;
  const problem = `A maximum of ${MOST_MARKS} blocks with cache_control may be provided. Found ${found}.`;
  throw wrong("cache_control", problem);
}

function countMarks(value: JsonValue | undefined): number {
  if (!Array.isArray(value)) return 0;
  const items: readonly JsonValue[] = value;
  return items.reduce<number>((sum, item) => {
    if (!isObject(item)) return sum;
    const { cache_control: mark, content } = item;
    return sum + (mark === undefined || mark === null ? 0 : 1) + countMarks(content);
  }, 0);
}
