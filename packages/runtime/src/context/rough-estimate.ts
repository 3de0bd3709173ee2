import type { ChatMessage, Estimate, ModelInfo, ModelRequest } from "@ravi/kernel";

const sizes = new WeakMap<ChatMessage, number>();
const DEFAULT_OUTPUT = 4_096;

/**
 * What a call may take when no meter was given: two characters a token, which is more than any common text needs, and no
 * price. `@ravi/resources` has a meter that counts and prices.
 */
export function roughEstimate(info: ModelInfo, request: ModelRequest): Estimate {
  let characters = request.tools === undefined ? 0 : JSON.stringify(request.tools).length;
  for (const message of request.messages) {
    let size = sizes.get(message);
    if (size === undefined) sizes.set(message, (size = JSON.stringify(message).length));
    characters += size;
  }
  return {
    inputTokens: Math.ceil(characters / 2),
    maxOutputTokens: request.maxOutputTokens ?? info.maxOutputTokens ?? DEFAULT_OUTPUT,
    price: { unpriced: true },
  };
}
