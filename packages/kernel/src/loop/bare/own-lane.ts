import type { HireOutcome, Outcome } from "../../agent/leaves.ts";
import type { RunContext } from "../../agent/run-context.ts";
import type { ModelResponse } from "../../model/llm.ts";
import type { ChatMessage } from "../../model/messages.ts";
import { addUsage, NO_USAGE, type Usage } from "../../model/usage.ts";
import type { Hooks } from "../../ports/hooks.ts";
import { bothHooks } from "../both-hooks.ts";
import { guardedHooks } from "../guarded-hooks.ts";
import { Conversation } from "../conversation.ts";

/** The methods that cost something, and report it in their result. */
const PAID: ReadonlySet<PropertyKey> = new Set<keyof RunContext>(["llm", "batch", "hire", "join"]);

/** For an agent that works in the slot of another one, `asker`: the other's context, with a conversation of its own. */
export class OwnLane {
  readonly ctx: RunContext;
  private readonly conversation = new Conversation();
  private used: Usage = NO_USAGE;

  constructor(asker: RunContext, hooks: Hooks | undefined) {
    const { conversation } = this;
    const own: Pick<RunContext, "window" | "remember" | "hooks"> = {
      hooks: bothHooks(asker.hooks, hooks && guardedHooks(hooks)),
      window: (options) => conversation.window(options),
      remember: (message) => conversation.remember(message),
    };
    const count = (given: Given | readonly Given[]): Given | readonly Given[] => this.count(given);
    this.ctx = new Proxy(asker, {
      get(target, key): unknown {
        if (Object.hasOwn(own, key)) return Reflect.get(own, key);
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        // Methods run on the context itself, never on a copy, because they count and lock there.
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        return PAID.has(key) ? (...args: unknown[]) => (call(...args) as Promise<Given>).then(count) : call;
      },
    });
  }

  get messages(): readonly ChatMessage[] {
    return this.conversation.messages;
  }

  /** What it has used so far, in its own calls and those of agents that it hired. */
  get usage(): Usage {
    return this.used;
  }

  private count(given: Given | readonly Given[]): Given | readonly Given[] {
    for (const one of [given].flat()) this.used = addUsage(this.used, usedBy(one));
    return given;
  }
}

type Given = ModelResponse | HireOutcome | Outcome;

function usedBy(given: Given): Usage {
  if ("response" in given) return usedBy(given.response);
  // A user's cache may report the usage of the original call; now nothing was used.
  if ("cached" in given && given.cached === true) return NO_USAGE;
  // An agent that works on reports its usage when it is joined.
  const isCounted = "usage" in given && !("handle" in given);
  return isCounted ? (given.usage ?? NO_USAGE) : NO_USAGE;
}
