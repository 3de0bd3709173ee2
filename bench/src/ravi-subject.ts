import type { RunEvent } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import type { RunOptions, Runtime } from "@ravi/runtime";
import { fakeModel, streamingModel, tools } from "./bench-agent.ts";
import { type Plan, plans } from "./fake.ts";
import type { Subject } from "./subject.ts";

const MOST_STEPS = 1_000;

/** A subject made of the agents that users write, on the given runtime. */
export function raviSubject(
  runtime: () => Runtime,
  options: RunOptions = {},
): Required<Pick<Subject, "subject" | "team" | "stream" | "streamByCallback">> {
  const worker = (name: string, plan: Plan, withTool = true) =>
    new ReActAgent({
      name,
      model: fakeModel(plan),
      instructions: "You are a bench.",
      tools: withTool ? tools : [],
      maxSteps: MOST_STEPS,
    });
  return {
    subject(plan, { withTool } = {}) {
      const agent = worker("bench", plan, withTool);
      return async () => (await runtime().run(agent, "go", options).result).output;
    },
    team(size, turns) {
      const plan = plans.team(size, (n) => ({ name: `handoff_sub${n}`, args: { task: "go" } }));
      const lead = new OrchestratorAgent({
        name: "lead",
        model: fakeModel(plan),
        instructions: "You are a bench.",
        subAgents: Array.from({ length: size }, (_, n) => ({ agent: worker(`sub${n}`, plans.turns(turns)) })),
      });
      return async () => (await runtime().run(lead, "go", options).result).output;
    },
    stream(deltas) {
      const agent = new ReActAgent({ name: "bench", model: streamingModel(deltas) });
      return async () => {
        let seen = 0;
        const handle = runtime().run(agent, "go", options);
        for await (const { event } of handle.events()) if (event.type === "text") seen += event.delta.length;
        return seen;
      };
    },
    streamByCallback(deltas) {
      const agent = new ReActAgent({ name: "bench", model: streamingModel(deltas) });
      return async () => {
        let seen = 0;
        const onEvent = ({ event }: RunEvent): void => {
          if (event.type === "text") seen += event.delta.length;
        };
        await runtime().run(agent, "go", { ...options, onEvent }).result;
        return seen;
      };
    },
  };
}
