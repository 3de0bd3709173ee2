import { type ChatMessage, InvalidValueError, type ModelRequest, type ToolSpec } from "@ravi/kernel";
import { Digest } from "./digest.ts";

/** The digest of a list of messages, and how many of them it covers. */
class Chain extends Digest {
  count = 0;
}

/** A list of up to so many messages is read again faster than it is looked up. */
const FEW = 8;

/** Digests of lists other than the newest, for agents that alternate between several conversations. */
const chains = new WeakMap<readonly ChatMessage[], Chain>();
const toolNames = new WeakMap<readonly ToolSpec[], string>();

/**
 * Names the requests of one execution. A loop makes one request again and again, with a list that grows, so the newest is kept in fields:
 * to find it in a `WeakMap` takes 0.3 µs each time, and is work for the garbage collector.
 */
export class Requests {
  private list: readonly ChatMessage[] | undefined;
  private chain = new Chain();
  private request: ModelRequest | undefined;
  private modelId = "";
  private settings: Digest | undefined;
  private unbound: ModelRequest | undefined;
  private bound: ModelRequest | undefined;

  /** A name for a whole request: its model, its tools, its parameters and its messages. */
  fingerprint(modelId: string, request: ModelRequest): string {
    return this.messagesOf(request.messages).name(this.settingsOf(modelId, request));
  }

  /**
   * The request with `maxOutputTokens`, if it has none of its own. Without it the provider could write more than was set aside for its
   * answer.
   */
  bounded(request: ModelRequest, maxOutputTokens: number): ModelRequest {
    if (request.maxOutputTokens !== undefined) return request;
    if (this.bound?.maxOutputTokens === maxOutputTokens && this.unbound === request) return this.bound;
    const made = Object.freeze({ ...request, maxOutputTokens });
    // A request that is not frozen may still change, so its copy is not kept.
    if (Object.isFrozen(request)) {
      this.unbound = request;
      this.bound = made;
    }
    return made;
  }

  /**
   * A window is append-only, so only what is new since the last call is read: a turn costs the same at ten messages and at ten
   * thousand.
   */
  private messagesOf(messages: readonly ChatMessage[]): Digest {
    if (messages !== this.list) this.switchTo(messages);
    // Somebody has cut the list, so it is read from its beginning.
    if (this.chain.count > messages.length) {
      chains.delete(messages);
      this.chain = new Chain();
    }
    const { chain } = this;
    let { count } = chain;
    // Invalid until all of it is read: if that throws, the digest is incomplete, and the next call starts again.
    chain.count = Infinity;
    while (count < messages.length) {
      const message = messages[count++];
      if (message === undefined) chain.value(message);
      else chain.message(message);
    }
    chain.count = count;
    return chain;
  }

  private switchTo(messages: readonly ChatMessage[]): void {
    if (this.list !== undefined && this.chain.count > FEW) chains.set(this.list, this.chain);
    this.list = messages;
    this.chain = chains.get(messages) ?? new Chain();
  }

  /** The digest of everything in a request but its messages. */
  private settingsOf(modelId: string, request: ModelRequest): Digest {
    if (this.settings !== undefined && request === this.request && modelId === this.modelId)
      return this.settings;
    // The type checker of who has written the model may not have been asked.
    const id: unknown = modelId;
    if (typeof id !== "string")
      throw new InvalidValueError({ field: "model.id", value: id, expected: "a string" });
    const settings = new Digest().text(id);
    if (request.tools !== undefined) settings.text(nameOf(request.tools));
    for (const key in request) {
      if (key === "messages" || key === "tools") continue;
      const value: unknown = request[key as keyof ModelRequest];
      if (value !== undefined) settings.text(key).value(value);
    }
    // A request that is not frozen may still change, so its digest is not kept.
    if (Object.isFrozen(request)) {
      this.request = request;
      this.modelId = modelId;
      this.settings = settings;
    }
    return settings;
  }
}

function nameOf(tools: readonly ToolSpec[]): string {
  let known = toolNames.get(tools);
  if (known === undefined) toolNames.set(tools, (known = new Digest().value(tools).name()));
  return known;
}
