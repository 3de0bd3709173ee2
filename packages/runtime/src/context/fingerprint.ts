import { hash } from "node:crypto";
import type { ChatMessage, ModelRequest } from "@ravi/kernel";

/** Short enough to be written down with every call, long enough that no two requests share it. */
export function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, DIGEST_LENGTH);
}

const DIGEST_LENGTH = 27;

/** A text that is no longer than its digest stands for itself. */
export function shortDigest(text: string): string {
  return text.length <= DIGEST_LENGTH ? text : digest(text);
}

/** What of a list has been read: the digest of most of it, and the text that was not worth a digest of its own yet. */
interface Chain {
  count: number;
  head: string;
  tail: string;
}

/** Beyond it the tail goes into the head. Where, depends on the messages alone, so that a replay comes to the same digest. */
const LONGEST_TAIL = 512;

const chains = new WeakMap<readonly ChatMessage[], Chain>();

/**
 * The text that stands for a list of messages. A window is append-only, so only what is new since the last call is read: a turn
 * costs the same at ten messages and at ten thousand.
 */
function chainOf(messages: readonly ChatMessage[]): string {
  let chain = chains.get(messages);
  if (chain === undefined || chain.count > messages.length) {
    chain = { count: 0, head: "", tail: "" };
    chains.set(messages, chain);
  }
  for (; chain.count < messages.length; chain.count++) {
    chain.tail += JSON.stringify(messages[chain.count]);
    if (chain.tail.length <= LONGEST_TAIL) continue;
    chain.head = digest(chain.head + chain.tail);
    chain.tail = "";
  }
  return chain.head + chain.tail;
}

/** Of everything in a request but its messages. A loop makes its requests once, and its list of tools too. */
const settings = new WeakMap<object, string>();

function settingsOf(request: ModelRequest): string {
  let known = settings.get(request);
  if (known === undefined) {
    const { messages: _, tools, ...parameters } = request;
    let toolsDigest = "";
    if (tools !== undefined) {
      toolsDigest = settings.get(tools) ?? digest(JSON.stringify(tools));
      settings.set(tools, toolsDigest);
    }
    known = `${toolsDigest}\n${JSON.stringify(parameters)}`;
    // What may still change is read anew each time.
    if (Object.isFrozen(request)) settings.set(request, known);
  }
  return known;
}

/** The digest of a whole request: its messages, its tools and its parameters. */
export function fingerprintOf(modelId: string, request: ModelRequest): string {
  return digest(`${modelId}\n${settingsOf(request)}\n${chainOf(request.messages)}`);
}
