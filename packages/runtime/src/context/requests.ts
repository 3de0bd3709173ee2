import type { ChatMessage, ModelRequest, ToolSpec } from "@ravi/kernel";
import { digest } from "./digest.ts";

/** What of a list has been read: the digest of most of it, and the text that was not worth a digest of its own yet. */
interface Chain {
  count: number;
  head: string;
  tail: string;
}

/** Beyond it the tail goes into the head. Where, depends on the messages alone, so that a replay comes to the same digest. */
const LONGEST_TAIL = 512;
/** A list of fewer messages is read anew sooner than looked up. */
const FEW = 8;

/** Of lists that were asked about before another one: conversations that one agent leads in turns. */
const chains = new WeakMap<readonly ChatMessage[], Chain>();
const toolDigests = new WeakMap<readonly ToolSpec[], string>();

/**
 * What one execution knows of the requests that it makes. A loop makes one request and goes on with it, over a list that grows, so
 * the newest is at hand: to find it by a `WeakMap` takes 0.3 µs each time, and makes the collector follow it.
 */
export class Requests {
  private list: readonly ChatMessage[] | undefined;
  private chain: Chain = { count: 0, head: "", tail: "" };
  private request: ModelRequest | undefined;
  private settings = "";
  private unbound: ModelRequest | undefined;
  private bound: ModelRequest | undefined;

  /** The digest of a whole request: its messages, its tools and its parameters. */
  fingerprint(modelId: string, request: ModelRequest): string {
    return digest(`${modelId}\n${this.settingsOf(request)}\n${this.chainOf(request.messages)}`);
  }

  /** What was set aside for the answer is what the provider may write: otherwise the limit would not bind it. */
  bounded(request: ModelRequest, maxOutputTokens: number): ModelRequest {
    if (request.maxOutputTokens !== undefined) return request;
    if (this.bound?.maxOutputTokens === maxOutputTokens && this.unbound === request) return this.bound;
    const made = Object.freeze({ ...request, maxOutputTokens });
    // What may still change is copied anew each time.
    if (Object.isFrozen(request)) {
      this.unbound = request;
      this.bound = made;
    }
    return made;
  }

  /**
   * The text that stands for a list of messages. A window is append-only, so only what is new since the last call is read: a turn
   * costs the same at ten messages and at ten thousand.
   */
  private chainOf(messages: readonly ChatMessage[]): string {
    if (messages !== this.list) this.turnTo(messages);
    const { chain } = this;
    // Shorter than it was: a list that somebody cut. It is read from its beginning.
    if (chain.count > messages.length) Object.assign(chain, { count: 0, head: "", tail: "" });
    for (; chain.count < messages.length; chain.count++) {
      chain.tail += JSON.stringify(messages[chain.count]);
      if (chain.tail.length <= LONGEST_TAIL) continue;
      chain.head = digest(chain.head + chain.tail);
      chain.tail = "";
    }
    return chain.head + chain.tail;
  }

  private turnTo(messages: readonly ChatMessage[]): void {
    if (this.list !== undefined && this.chain.count > FEW) chains.set(this.list, this.chain);
    this.list = messages;
    this.chain = chains.get(messages) ?? { count: 0, head: "", tail: "" };
  }

  /** Of everything in a request but its messages. */
  private settingsOf(request: ModelRequest): string {
    if (request === this.request) return this.settings;
    const settings = `${digestOf(request.tools)}\n${parametersOf(request)}`;
    // What may still change is read anew each time.
    if (Object.isFrozen(request)) {
      this.request = request;
      this.settings = settings;
    }
    return settings;
  }
}

function digestOf(tools: readonly ToolSpec[] | undefined): string {
  if (tools === undefined) return "";
  let known = toolDigests.get(tools);
  if (known === undefined) toolDigests.set(tools, (known = digest(JSON.stringify(tools))));
  return known;
}

/** Most requests have none. */
function parametersOf(request: ModelRequest): string {
  for (const key in request) {
    if (key === "messages" || key === "tools") continue;
    if (request[key as keyof ModelRequest] === undefined) continue;
    const { messages: _, tools: __, ...parameters } = request;
    return JSON.stringify(parameters);
  }
  return "{}";
}
