import type { AgentResult } from "../agent/agent.ts";
import type { RunScope } from "../agent/scope.ts";
import type { Clock } from "../core/clock.ts";
import { agentName } from "../core/ids.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { MiddlewareError } from "../errors/errors.ts";
import type { Supervision } from "../policy/supervision.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { AgentRunContext, Gate, Pipeline } from "../ports/middleware.ts";
import type { RunMeta } from "../run/run-meta.ts";
import { readResult } from "./read-result.ts";

export interface AdmitRunOptions {
  /** The layers around the agent, from the outside to the inside. */
  readonly layers: readonly Pipeline<AgentRunContext>[];
  readonly whom: Pick<Supervision, "agentId" | "runId" | "sessionId">;
  readonly input: string;
  readonly meta: RunMeta;
  /** For whom the agent is to work. */
  readonly scope?: RunScope | undefined;
  /** What all of the tree listen to, and what the agent brings along. */
  readonly hooks: Hooks;
  readonly clock: Clock;
}

export interface AdmittedRun {
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

/** The layers around an agent see its input, and one of them may answer for it. No promise where no layer makes one. */
export function admitRun(options: AdmitRunOptions): MaybePromise<AdmittedRun> {
  const { layers, whom, input, meta, scope, hooks, clock } = options;
  const { agentId, runId, sessionId } = whom;
  const context: AgentRunContext = {
    agentName: agentName(agentId),
    runId,
    sessionId,
    meta,
    scope,
    hooks,
    clock,
    signal: meta.cancellation.signal,
    input,
    result: undefined,
  };
  const read = (): AdmittedRun => ({
    input: context.input,
    refused: isUnset(context.result) ? undefined : readResult(agentId, context.result),
  });
  const asked = askFrom(0, layers, context);
  return isPromiseLike(asked) ? asked.then(read) : read();
}

function askFrom(
  from: number,
  layers: readonly Pipeline<AgentRunContext>[],
  context: AgentRunContext,
): MaybePromise<void> {
  for (let at = from; at < layers.length && isUnset(context.result); at++) {
    const asked = layers[at]?.admit(context, NO_WAITING);
    // A thenable of somebody's own may give nothing back from its `then`; a promise is resolved to itself.
    if (isPromiseLike(asked)) return Promise.resolve(asked).then(() => askFrom(at + 1, layers, context));
  }
}

/** Whether no layer has set a result. One that was not compiled may set null. */
export function isUnset(result: unknown): result is null | undefined {
  return result === undefined || result === null;
}
