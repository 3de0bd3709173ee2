import type { ChatMessage, Estimate, ModelInfo, ModelRequest, ToolSpec } from "@ravi/kernel";
import { byteLength } from "../../journal/parts/platform.ts";

const DEFAULT_OUTPUT = 4_096;

interface Measured {
  count: number;
  bytes: number;
}

const lists = new WeakMap<readonly ChatMessage[], Measured>();
const tools = new WeakMap<readonly ToolSpec[], number>();

/**
 * What a call may take at most, if there is no meter: one token for every two bytes, which is more than any common text needs (a Chinese
 * character has three bytes), and no price. `@ravi/resources` has a meter that counts and prices.
 */
export function roughEstimate(info: ModelInfo, request: ModelRequest): Estimate {
  const bytes = sizeOf(request.messages) + toolsSize(request.tools);
  return {
    inputTokens: Math.ceil(bytes / 2),
    maxOutputTokens: request.maxOutputTokens ?? info.maxOutputTokens ?? DEFAULT_OUTPUT,
    price: { unpriced: true },
  };
}

/** Lists of messages are append-only, so only new messages are measured. */
function sizeOf(messages: readonly ChatMessage[]): number {
  let known = lists.get(messages);
  if (known === undefined || known.count > messages.length) {
    known = { count: 0, bytes: 0 };
    lists.set(messages, known);
  }
  for (; known.count < messages.length; known.count++) {
    known.bytes += byteLength(JSON.stringify(messages[known.count]));
  }
  return known.bytes;
}

function toolsSize(specs: readonly ToolSpec[] | undefined): number {
  if (specs === undefined) return 0;
  let size = tools.get(specs);
  if (size === undefined) tools.set(specs, (size = byteLength(JSON.stringify(specs))));
  return size;
}
