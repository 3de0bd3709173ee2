import { hash } from "node:crypto";
import type { ChatMessage, ModelRequest } from "@ravi/kernel";

/** Short enough to be written down with every call, long enough that no two requests share it. */
export function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 27);
}

interface Chain {
  count: number;
  head: string;
}

const chains = new WeakMap<readonly ChatMessage[], Chain>();

/**
 * The digest of a list of messages. A window is append-only, so only what is new since the last call is read: a turn costs
 * the same at ten messages and at ten thousand.
 */
function chainOf(messages: readonly ChatMessage[]): string {
  let chain = chains.get(messages);
  if (chain === undefined || chain.count > messages.length) {
    chain = { count: 0, head: "" };
    chains.set(messages, chain);
  }
  for (; chain.count < messages.length; chain.count++) {
    chain.head = digest(chain.head + JSON.stringify(messages[chain.count]));
  }
  return chain.head;
}

const settings = new WeakMap<object, string>();

/** The digest of a whole request: its messages, its tools and its parameters. */
export function fingerprintOf(modelId: string, request: ModelRequest): string {
  const { messages, tools, ...parameters } = request;
  let toolsDigest = "";
  if (tools !== undefined) {
    // The list of tools is made once for each agent, and so is its digest.
    toolsDigest = settings.get(tools) ?? digest(JSON.stringify(tools));
    settings.set(tools, toolsDigest);
  }
  return digest(`${modelId}\n${chainOf(messages)}\n${toolsDigest}\n${JSON.stringify(parameters)}`);
}
