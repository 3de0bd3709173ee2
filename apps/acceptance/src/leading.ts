import {
  type Agent,
  AgentId,
  type AgentResult,
  type ChatMessage,
  type RunResult,
  textOf,
} from "@ravi/kernel";
import { OrchestratorAgent, type OrchestratorAgentOptions, type SubAgentConfig } from "@ravi/orchestrator";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { type Answer, type Script, scriptedModel } from "@ravi/testing";

// Shared by the tests of orchestrators: a runtime with all rules, and leads whose models follow a script.

export const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
export const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });
/** A model answer that hands each task to the agent of that name. */
export const hands = (...tasks: readonly (readonly [name: string, task: string])[]): Answer => ({
  toolCalls: tasks.map(([name, task]) => ({ name: `handoff_${name}`, arguments: { task } })),
});
export const PRICED = { info: { provider: "test", model: "fixed" } };
export const model = (script: Script) => scriptedModel(script, PRICED);

/** A runtime with headcount, ledger and meter; `extra` adds or replaces options. */
export function governed(extra: ConstructorParameters<typeof Runtime>[0] = {}): Runtime {
  return new Runtime({
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    // The vocabulary of a tokenizer is loaded in real time, in which a virtual clock would go on.
    meter: new ModelMeter({ prices: { fixed: { input: 1, output: 1 } }, tokenizer: "characters" }),
    ...extra,
  });
}

const resultsIn = (messages: readonly ChatMessage[]) =>
  messages.flatMap((message) =>
    message.role === "tool" ? [{ text: textOf(message), isError: message.isError === true }] : [],
  );

/** Runs a lead that hands over once and then answers. Returns its result and the tool results that it got. */
export async function handOver(
  handoffs: Answer,
  subAgents: readonly SubAgentConfig[],
  options: Partial<OrchestratorAgentOptions> = {},
  run: Parameters<Runtime["run"]>[2] = {},
  runtime: Runtime = governed(),
): Promise<{ readonly result: RunResult; readonly told: ReturnType<typeof resultsIn> }> {
  const asked = model([handoffs, "all in all: fine"]);
  const lead = new OrchestratorAgent({ name: "lead", model: asked, subAgents, ...options });
  const result = await runtime.run(lead, "go", run).result;
  return { result, told: resultsIn(asked.calls.at(-1)?.request.messages ?? []) };
}

/** A helper, with counts of how many of its runs were active at once and how often it ran. */
export function counted(): {
  readonly helper: Agent;
  readonly most: () => number;
  readonly ran: () => number;
} {
  let running = 0;
  let most = 0;
  let ran = 0;
  const helper = agent("helper", async (ctx, { input }) => {
    ran++;
    most = Math.max(most, ++running);
    for (let turn = 0; turn < 3; turn++) await ctx.check();
    await ctx.llm(model(["x"]), { messages: [{ role: "user", content: input }] });
    running--;
    return done(`did ${input}`);
  });
  return { helper, most: () => most, ran: () => ran };
}
