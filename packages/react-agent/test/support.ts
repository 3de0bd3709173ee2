import {
  type AgentResult,
  BudgetExhaustedError,
  defineTool,
  type Hooks,
  type HookEvent,
  type RunEvent,
  type Tool,
} from "@ravi/kernel";
import { type BareContext, bareContext, type BareContextOptions } from "@ravi/kernel/loop";
import type { Answer } from "@ravi/testing";
import type { ReActAgent } from "@ravi/react-agent";
import * as z from "zod";

export const add: Tool<{ a: number; b: number }, number> = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

/** An answer that asks for one tool. */
export const asks = (name: string, args: Record<string, never> | object | string = {}): Answer => ({
  toolCalls: [{ name, arguments: typeof args === "string" ? args : JSON.stringify(args) }],
});

export interface Ran<T> {
  readonly result: AgentResult<T>;
  readonly events: readonly RunEvent["event"][];
  readonly ctx: BareContext;
}

/** Runs an agent to its end and keeps what it told the world. */
export async function run<T>(
  agent: ReActAgent<T>,
  input = "go",
  options: BareContextOptions & { readonly ctx?: BareContext } = {},
): Promise<Ran<T>> {
  const { ctx: given, ...rest } = options;
  const events: RunEvent["event"][] = [];
  const ctx = given ?? bareContext({ onEvent: ({ event }) => events.push(event), ...rest });
  return { result: await agent.run(ctx, ctx.inbox(input)), events, ctx };
}

/** A context whose budget allows so many model calls; one more, the wrap-up, where it is held back. */
export function withTurns(turns: number, options: { readonly reserve: boolean }): BareContext {
  const ctx = bareContext();
  const llm = ctx.llm.bind(ctx);
  let used = 0;
  ctx.llm = async (model, request, call) => {
    if (used >= turns && !(call?.wrapUp === true && options.reserve)) throw exhausted("turns", turns);
    used++;
    return llm(model, request, call);
  };
  return ctx;
}

export function exhausted(dimension: "turns" | "toolCalls", limit: number): BudgetExhaustedError {
  return new BudgetExhaustedError({ dimension, used: limit, limit, scope: "agent" });
}

/** Listens to everything. */
export function listening(): { readonly hooks: Hooks; readonly heard: [HookEvent, object][] } {
  const heard: [HookEvent, object][] = [];
  return {
    heard,
    hooks: {
      has: () => true,
      dispatch: (event, payload) => void heard.push([event, payload]),
      drain: () => {},
    },
  };
}
