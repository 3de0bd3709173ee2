import type { ChatMessage, ModelRequest, ToolSpec } from "@ravi/kernel";
import { digest } from "./digest.ts";

/**
 * What of a list has been read, in parts: an answer of the model begins a new one, and the digest of each is made over that of the
 * part before it. A loop asks once for each answer, so it makes one digest for each request. Where a part begins depends on the messages
 * alone, so that a replay comes to the same digest however often it asks.
 */
interface Chain {
  count: number;
  /** The digest of all parts before the last one. */
  head: string;
  /** The text of the last part. */
  tail: string;
  /** The digest of both, once somebody has asked for it. */
  whole: string | undefined;
}

const newChain = (): Chain => ({ count: 0, head: "", tail: "", whole: undefined });

/** A longer part ends: its text is not kept, nor read again where no answer comes in between. */
const LONGEST_TAIL = 1_024;
/** Of the two digests that are written down with every call. */
const SETTINGS_LENGTH = 8;
const MESSAGES_LENGTH = 22;
/** A list of fewer messages is read anew sooner than looked up. */
const FEW = 8;

/** Of lists that were asked about before another one: conversations that one agent leads in turns. */
const chains = new WeakMap<readonly ChatMessage[], Chain>();
const toolDigests = new WeakMap<readonly ToolSpec[], string>();
/** By what was digested: a program has few agents, and each run of one would do it again. */
const settingsDigests = new Map<string, string>();
const MOST_SETTINGS = 100;
const LONGEST_SETTINGS = 1_024;

/**
 * What one execution knows of the requests that it makes. A loop makes one request and goes on with it, over a list that grows, so
 * the newest is at hand: to find it by a `WeakMap` takes 0.3 µs each time, and makes the collector follow it.
 */
export class Requests {
  private list: readonly ChatMessage[] | undefined;
  private chain = newChain();
  private request: ModelRequest | undefined;
  private modelId = "";
  private settings = "";
  private unbound: ModelRequest | undefined;
  private bound: ModelRequest | undefined;

  /** The digests of a whole request: of its model, its tools and its parameters; and of its messages. */
  fingerprint(modelId: string, request: ModelRequest): string {
    return this.settingsOf(modelId, request) + this.chainOf(request.messages).slice(0, MESSAGES_LENGTH);
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
   * The digest of a list of messages. A window is append-only, so only what is new since the last call is read: a turn costs the
   * same at ten messages and at ten thousand.
   */
  private chainOf(messages: readonly ChatMessage[]): string {
    if (messages !== this.list) this.turnTo(messages);
    const { chain } = this;
    // Shorter than it was: a list that somebody cut. It is read from its beginning.
    if (chain.count > messages.length) Object.assign(chain, newChain());
    for (; chain.count < messages.length; chain.count++) {
      const message = messages[chain.count];
      if (message?.role === "assistant") endPart(chain);
      chain.tail += JSON.stringify(message);
      chain.whole = undefined;
      if (chain.tail.length > LONGEST_TAIL) endPart(chain);
    }
    return (chain.whole ??= digest(chain.head + chain.tail));
  }

  private turnTo(messages: readonly ChatMessage[]): void {
    if (this.list !== undefined && this.chain.count > FEW) chains.set(this.list, this.chain);
    this.list = messages;
    this.chain = chains.get(messages) ?? newChain();
  }

  /** Of everything in a request but its messages. */
  private settingsOf(modelId: string, request: ModelRequest): string {
    if (request === this.request && modelId === this.modelId) return this.settings;
    const settings = settingsDigest(`${modelId}\n${digestOf(request.tools)}\n${parametersOf(request)}`);
    // What may still change is read anew each time.
    if (Object.isFrozen(request)) {
      this.request = request;
      this.modelId = modelId;
      this.settings = settings;
    }
    return settings;
  }
}

function endPart(chain: Chain): void {
  if (chain.tail === "") return;
  chain.head = chain.whole ??= digest(chain.head + chain.tail);
  chain.tail = "";
}

function settingsDigest(text: string): string {
  let known = settingsDigests.get(text);
  if (known !== undefined) return known;
  if (settingsDigests.size === MOST_SETTINGS) settingsDigests.clear();
  known = digest(text).slice(0, SETTINGS_LENGTH);
  // Settings with a large schema are digested again sooner than kept.
  if (text.length <= LONGEST_SETTINGS) settingsDigests.set(text, known);
  return known;
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
