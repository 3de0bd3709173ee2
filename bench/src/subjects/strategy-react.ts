import { ReAct, StrategyAgent } from "@ravi/architectures";
import { fakeModel, tools } from "../bench-agent.ts";
import { onBareContext } from "../react-bench.ts";
import type { Subject } from "../subject.ts";

/** The same loop through the interface that all strategies share. */
export const subject: Subject["subject"] = (plan, { withTool = true } = {}) =>
  onBareContext(
    new StrategyAgent({
      name: "bench",
      model: fakeModel(plan),
      tools: withTool ? tools : [],
      maxTurns: 1_000,
      architecture: new ReAct(),
    }),
  );
