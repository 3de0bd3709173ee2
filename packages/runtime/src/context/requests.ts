import type { ChatMessage, ModelRequest, ToolSpec } from "@ravi/kernel";
import { Digest } from "./digest.ts";

/** What of a list has been read. */
class Chain extends Digest {
  count = 0;
}

/** A list of fewer messages is read anew sooner than looked up. */
const FEW = 8;

/** Of lists that were asked about before another one: conversations that one agent leads in turns. */
const chains = new WeakMap<readonly ChatMessage[], Chain>();
const toolNames = new WeakMap<readonly ToolSpec[], string>();

/**
 * What one execution knows of the requests that it makes. A loop makes one request and goes on with it, over a list that grows, so
 * the newest is at hand: to find it by a `WeakMap` takes 0.3 µs each time, and makes the collector follow it.
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
   * A window is append-only, so only what is new since the last call is read: a turn costs the same at ten messages and at ten
   * thousand.
   */
  private messagesOf(messages: readonly ChatMessage[]): Digest {
    if (messages !== this.list) this.turnTo(messages);
    // Shorter than it was: a list that somebody cut. It is read from its beginning.
    if (this.chain.count > messages.length) {
      chains.delete(messages);
      this.chain = new Chain();
    }
    const { chain } = this;
    let { count } = chain;
    // Until all of it was read: where that throws, what was taken in of it is of no use.
    chain.count = Infinity;
    while (count < messages.length) chain.value(messages[count++]);
    chain.count = count;
    return chain;
  }

  private turnTo(messages: readonly ChatMessage[]): void {
    if (this.list !== undefined && this.chain.count > FEW) chains.set(this.list, this.chain);
    this.list = messages;
    this.chain = chains.get(messages) ?? new Chain();
  }

  /** Of everything in a request but its messages. */
  private settingsOf(modelId: string, request: ModelRequest): Digest {
    if (this.settings !== undefined && request === this.request && modelId === this.modelId)
      return this.settings;
    const settings = new Digest().text(modelId);
    if (request.tools !== undefined) settings.text(nameOf(request.tools));
    for (const key in request) {
      if (key === "messages" || key === "tools") continue;
      const value: unknown = request[key as keyof ModelRequest];
      if (value !== undefined) settings.text(key).value(value);
    }
    // What may still change is read anew each time.
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
