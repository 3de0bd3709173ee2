import type { AgentResult } from "../agent/agent.ts";
import type { RunScope } from "../agent/scope.ts";
import type { Clock } from "../core/clock.ts";
import { agentName } from "../core/ids.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { MiddlewareError } from "../errors/errors.ts";
import type { Attachment } from "../model/messages.ts";
import type { Supervision } from "../policy/supervision.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { AgentRunContext, Gate, Pipeline } from "../ports/middleware.ts";
import type { RunMeta } from "../run/run-meta.ts";
import { readResult } from "./read-result.ts";

export interface AdmitRunOptions {
  /** The pipelines around the agent, from the outermost to the innermost. */
  readonly layers: readonly Pipeline<AgentRunContext>[];
  readonly whom: Pick<Supervision, "agentId" | "runId" | "sessionId">;
  readonly input: string;
  readonly attachments: readonly Attachment[] | undefined;
  readonly meta: RunMeta;
  /** For whom the agent works: user, tenant, metadata. */
  readonly scope?: RunScope | undefined;
  /** The hooks of the tree and of the agent. */
  readonly hooks: Hooks;
  readonly clock: Clock;
}

/** What the layers made of a run's input. */
export interface AdmittedRun {
  /** The input after the layers: if a redactor changed it, this version is the one that is recorded. */
  readonly input: string;
  /** The result, if a layer answered instead of the agent. */
  readonly refused: AgentResult | undefined;
}

/** The agent level sees the input before the run is recorded, so it cannot wait for an answer durably. */
const NO_WAITING: Gate = {
  async require(name) {
    const problem = `requested ${name} before the run was recorded; a layer that waits for an answer belongs to the function level`;
    throw new MiddlewareError({ layer: "agent", problem });
  },
};

/**
 * Lets the layers around an agent check and change its input; one of them may answer instead of it. Returns a promise only if a
 * layer does.
 */
export function admitRun(options: AdmitRunOptions): MaybePromise<AdmittedRun> {
  const { layers, whom, input, attachments, meta, scope, hooks, clock } = options;
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
    attachments,
    result: undefined,
  };
  // As while the agent runs: a layer in plain JavaScript that sets it fails, and does not believe that it took them away.
  Object.defineProperty(context, "attachments", { writable: false });
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
    // Wrapped in a real promise: a custom thenable's `then` may return undefined. A native promise is returned as it is.
    if (isPromiseLike(asked)) return Promise.resolve(asked).then(() => askFrom(at + 1, layers, context));
  }
}

/** Whether no layer has set a result. Untyped JavaScript may set null. */
export function isUnset(result: unknown): result is null | undefined {
  return result === undefined || result === null;
}
