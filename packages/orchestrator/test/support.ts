import {
  type Agent,
  AgentId,
  type AgentResult,
  type ChatMessage,
  type HookEvent,
  type Hooks,
  type RunEvent,
  type StopReason,
  textOf,
} from "@ravi/kernel";
import { type BareContext, bareContext, type BareContextOptions } from "@ravi/kernel/loop";
import { OrchestratorAgent, type OrchestratorAgentOptions, type SubAgentConfig } from "@ravi/orchestrator";
import { type Answer, scriptedModel, virtualClock } from "@ravi/testing";

export const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
export const partial = (output: string, stopReason: StopReason): AgentResult => ({
  status: "partial",
  output,
  stopReason,
});

export const agent = (
  name: string,
  run: Agent["run"] = async (_, { input }) => done(`did ${input}`),
): Agent => ({
  id: AgentId(name),
  run,
});

/** An answer that hands these tasks over, all in one turn. */
export const hands = (...tasks: readonly (readonly [name: string, task: string])[]): Answer => ({
  toolCalls: tasks.map(([name, task]) => ({ name: `handoff_${name}`, arguments: { task } })),
});

export interface Ran {
  readonly result: AgentResult;
  readonly ctx: BareContext;
  readonly events: readonly RunEvent[];
  /** What the model was told of each of its calls, in order. */
  readonly told: readonly { readonly text: string; readonly isError: boolean }[];
}

/** Runs a lead with this script to its end. */
export async function lead(
  script: Parameters<typeof scriptedModel>[0],
  subAgents: readonly SubAgentConfig[],
  options: Partial<OrchestratorAgentOptions> & { readonly context?: never } = {},
  bare: BareContextOptions = {},
): Promise<Ran> {
  const orchestrator = new OrchestratorAgent({
    name: "lead",
    model: scriptedModel(script),
    subAgents,
    ...options,
  });
  const events: RunEvent[] = [];
  const ctx = bareContext({ clock: virtualClock(), onEvent: (event) => events.push(event), ...bare });
  const result = await orchestrator.run(ctx, ctx.inbox("go"));
  return { result, ctx, events, told: toldIn(ctx.window()) };
}

export function toldIn(messages: readonly ChatMessage[]): Ran["told"] {
  return messages.flatMap((message) =>
    message.role === "tool" ? [{ text: textOf(message), isError: message.isError === true }] : [],
  );
}

/** Listens to everything. */
export function listening(): { readonly hooks: Hooks; readonly heard: [HookEvent, object][] } {
  const heard: [HookEvent, object][] = [];
  const dispatch: Hooks["dispatch"] = (event, payload) => void heard.push([event, payload]);
  return { heard, hooks: { has: () => true, dispatch, drain: () => {} } };
}
