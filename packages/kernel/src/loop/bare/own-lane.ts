import type { HireOutcome, Outcome } from "../../agent/leaves.ts";
import type { RunContext } from "../../agent/run-context.ts";
import type { ModelResponse } from "../../model/llm.ts";
import type { ChatMessage } from "../../model/messages.ts";
import { addUsage, NO_USAGE, type Usage } from "../../model/usage.ts";
import type { Hooks } from "../../ports/hooks.ts";
import { bothHooks } from "../both-hooks.ts";
import { guardedHooks } from "../guarded-hooks.ts";
import { Conversation } from "../conversation.ts";

/** The context of an agent that works in another agent's slot: the other's context, with a conversation of its own. */
export interface OwnLane {
  readonly ctx: RunContext;
  readonly messages: readonly ChatMessage[];
  /** What it has used so far, in its own calls and those of agents that it hired. */
  readonly usage: Usage;
}

/** The methods that cost something, and report it in their result. */
const PAID: ReadonlySet<PropertyKey> = new Set<keyof RunContext>(["llm", "batch", "hire", "join"]);

/** Makes a context for an agent that works in the slot of `asker`. */
export function ownLane(asker: RunContext, hooks: Hooks | undefined): OwnLane {
  const conversation = new Conversation();
  let usage = NO_USAGE;
  const count = (given: Given | readonly Given[]): Given | readonly Given[] => {
    for (const one of [given].flat()) usage = addUsage(usage, usedBy(one));
    return given;
  };
  const own: Pick<RunContext, "window" | "remember" | "hooks"> = {
    hooks: bothHooks(asker.hooks, hooks && guardedHooks(hooks)),
    window: (options) => conversation.window(options),
    remember: (message) => conversation.remember(message),
  };
  const ctx = new Proxy(asker, {
    get(target, key): unknown {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key);
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      // Methods run on the context itself, never on a copy, because they count and lock there.
      const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
      return PAID.has(key) ? (...args: unknown[]) => (call(...args) as Promise<Given>).then(count) : call;
    },
  });
  return {
    ctx,
    get messages() {
      return conversation.messages;
    },
    get usage() {
      return usage;
    },
  };
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
