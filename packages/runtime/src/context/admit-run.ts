import {
  type AgentResult,
  type AgentRunContext,
  agentName,
  type ContextPorts,
  type Gate,
  type MaybePromise,
  MiddlewareError,
  type RunMeta,
  type Supervision,
} from "@ravi/kernel";
import { readResult } from "@ravi/kernel/loop";
import { andThen } from "./and-then.ts";
import { isUnset } from "./layer-result.ts";
import { mayAdmit, type Plan } from "./plan.ts";

export interface Admission {
  /** What the layers made of the input: a redactor's version is the one that is written down. */
  readonly input: string;
  /** A layer answered instead of the agent. */
  readonly refused: AgentResult | undefined;
}

/** An agent's own layers look at its input before it is on record anywhere, and so cannot wait for anybody durably. */
const NO_WAITING: Gate = {
  async require(name) {
    const problem = `asked for ${name} before the run is on record; what needs an answer belongs to the function level`;
    throw new MiddlewareError({ layer: "agent", problem });
  },
};

/** `meta` is asked for only where there is a layer to see it. No promise where no layer makes one. */
export function admitRun(
  plan: Plan,
  ports: ContextPorts,
  metaOf: () => RunMeta,
  { agentId, runId, sessionId }: Pick<Supervision, "agentId" | "runId" | "sessionId">,
  input: string,
): MaybePromise<Admission> {
  if (plan.agent === undefined || !mayAdmit(plan.agent)) return { input, refused: undefined };
  const meta = metaOf();
  const context: AgentRunContext = {
    agentName: agentName(agentId),
    runId,
    sessionId,
    meta,
    hooks: plan.hooks,
    clock: ports.clock,
    signal: meta.cancellation.signal,
    input,
    result: undefined,
  };
  return andThen(plan.agent.admit(context, NO_WAITING), () => ({
    input: context.input,
    refused: isUnset(context.result) ? undefined : readResult(agentId, context.result),
  }));
}
