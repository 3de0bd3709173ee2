import {
  addUsage,
  type Agent,
  type AgentEvent,
  type AgentResult,
  type AgentSession,
  type Architecture,
  BudgetExhaustedError,
  defineTool,
  type JsonValue,
  type ModelRequest,
  NO_USAGE,
  textOf,
  type Usage,
} from "@ravi/kernel";
import { type BareContext, bareContext } from "@ravi/kernel/loop";
import { freshSession, ReAct, StrategyAgent, type StrategyAgentOptions } from "@ravi/architectures";
import { type Script, type ScriptedModel, scriptedModel } from "@ravi/testing";
import * as z from "zod";

export const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

export const lookUp = defineTool({
  name: "look_up",
  description: "Looks something up.",
  input: z.object({ query: z.string() }),
  execute: ({ query }) => {
    if (query === "nothing") throw new Error("not found");
    return `facts about ${query}`;
  },
});

export interface Ran {
  readonly result: AgentResult;
  readonly session: AgentSession;
  readonly model: ScriptedModel;
  readonly events: readonly AgentEvent[];
}

export interface RunOptions extends Partial<Omit<StrategyAgentOptions, "architecture" | "model">> {
  readonly prompt?: string | undefined;
  readonly session?: AgentSession | undefined;
  readonly ctx?: BareContext | undefined;
  readonly userId?: string | undefined;
}

/** Runs a strategy on a model that follows a script, with nothing else around it. */
export async function run(
  architecture: Architecture,
  script: Script,
  options: RunOptions = {},
): Promise<Ran> {
  const { prompt = "the task", session = freshSession({ id: "s" }), ctx: given, userId, ...rest } = options;
  const model = scriptedModel(script);
  const events: AgentEvent[] = [];
  const ctx = given ?? bareContext({ userId, onEvent: ({ event }) => events.push(event) });
  const agent = new StrategyAgent({ name: "thinker", ...rest, architecture, model });
  const result = await agent.continue(session, ctx, ctx.inbox(prompt));
  return { result, session, model, events };
}

/** The last thing that a model was asked. */
export function asked(request: ModelRequest | undefined): string {
  return request === undefined
    ? ""
    : textOf(request.messages.findLast(({ role }) => role === "user") ?? { content: "" });
}

/** A worker that follows a script of its own. */
export function worker(
  name: string,
  script: Script,
  description?: string,
): Agent & { readonly model: ScriptedModel } {
  const model = scriptedModel(script);
  const agent = new StrategyAgent({ name, model, architecture: new ReAct(), description });
  return Object.assign(agent, { model });
}

/** What a strategy told under that name. */
export function told(events: readonly AgentEvent[], name: string): JsonValue[] {
  return events.flatMap((event) => (event.type === "progress" && event.name === name ? [event.data] : []));
}

/** What models with these scripts have really used: each call is 10 tokens in and 1 out. */
export function usageOf(...models: readonly ScriptedModel[]): Usage {
  const calls = models.reduce((sum, { calls: made }) => sum + made.length, 0);
  let usage = NO_USAGE;
  for (let n = 0; n < calls; n++) usage = addUsage(usage, EACH);
  return usage;
}

export const EACH: Usage = { inputTokens: 10, outputTokens: 1 };

/** A text that costs what every call here costs. */
export function says(text: string): { text: string; usage: Usage } {
  return { text, usage: EACH };
}

/** Ends the money after so many calls; the last turn, which asks for an answer, is still paid. */
export function broke(script: (request: ModelRequest, call: number) => string, after: number): Script {
  let made = 0;
  return (request, call) => {
    const isLast = asked(request).startsWith("Your budget is used up");
    if (made >= after && !isLast)
      throw new BudgetExhaustedError({ dimension: "turns", used: after, limit: after, scope: "thinker" });
    made++;
    return isLast
      ? says(`landed from: ${asked({ messages: request.messages.slice(0, -1) })}`)
      : says(script(request, call));
  };
}
