import { ReActAgent } from "@ravi/react-agent";
import { fakeModel, tools } from "../bench-agent.ts";
import { onBareContext } from "../react-bench.ts";
import type { Subject } from "../subject.ts";

/** ReActAgent, on a context that enforces no rules. */
export const subject: Subject["subject"] = (plan, { withTool = true } = {}) =>
  onBareContext(
    new ReActAgent({ name: "bench", model: fakeModel(plan), tools: withTool ? tools : [], maxSteps: 1_000 }),
  );
