import {
  type Agent,
  AgentId,
  type AgentResult,
  type HookEvent,
  type Hooks,
  type RunEvent,
  type StopReason,
} from "@ravi/kernel";
import { type BareContext, bareContext, type BareContextOptions } from "@ravi/kernel/loop";

export const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
export const partial = (output: string, stopReason: StopReason = "budget"): AgentResult => ({
  status: "partial",
  output,
  stopReason,
});
export const agent = (name: string, work: Agent["run"]): Agent => ({ id: AgentId(name), run: work });
export const says = (name: string, output: string | AgentResult): Agent =>
  agent(name, async () => (typeof output === "string" ? done(output) : output));
export const fails = (name: string, message = "oops"): Agent =>
  agent(name, async () => {
    throw new TypeError(message);
  });

export async function run<T>(
  flow: Agent<T>,
  input = "go",
  options: BareContextOptions = {},
): Promise<{
  readonly result: AgentResult<T>;
  readonly ctx: BareContext;
  readonly events: RunEvent["event"][];
}> {
  const events: RunEvent["event"][] = [];
  const ctx = bareContext({ agent: flow, onEvent: ({ event }) => events.push(event), ...options });
  return { result: await flow.run(ctx, ctx.inbox(input)), ctx, events };
}

export function listening(): { readonly hooks: Hooks; readonly heard: [HookEvent, object][] } {
  const heard: [HookEvent, object][] = [];
  const dispatch: Hooks["dispatch"] = (event, payload) => void heard.push([event, payload]);
  return { heard, hooks: { has: () => true, dispatch, drain: () => {} } };
}
