import type { ChatMessage, Estimate, ModelInfo, ModelRequest, ToolSpec } from "@ravi/kernel";

const DEFAULT_OUTPUT = 4_096;

interface Measured {
  count: number;
  characters: number;
}

const lists = new WeakMap<readonly ChatMessage[], Measured>();
const tools = new WeakMap<readonly ToolSpec[], number>();

/**
 * What a call may take when no meter was given: two characters a token, which is more than any common text needs, and no
 * price. `@ravi/resources` has a meter that counts and prices.
 */
export function roughEstimate(info: ModelInfo, request: ModelRequest): Estimate {
  const characters = sizeOf(request.messages) + toolsSize(request.tools);
  return {
    inputTokens: Math.ceil(characters / 2),
    maxOutputTokens: request.maxOutputTokens ?? info.maxOutputTokens ?? DEFAULT_OUTPUT,
    price: { unpriced: true },
  };
}

/** A list is only appended to, so only what is new in it is measured. */
function sizeOf(messages: readonly ChatMessage[]): number {
  let known = lists.get(messages);
  if (known === undefined || known.count > messages.length) {
    known = { count: 0, characters: 0 };
    lists.set(messages, known);
  }
  for (; known.count < messages.length; known.count++) {
    known.characters += JSON.stringify(messages[known.count]).length;
  }
  return known.characters;
}

function toolsSize(specs: readonly ToolSpec[] | undefined): number {
  if (specs === undefined) return 0;
  let size = tools.get(specs);
  if (size === undefined) tools.set(specs, (size = JSON.stringify(specs).length));
  return size;
}
