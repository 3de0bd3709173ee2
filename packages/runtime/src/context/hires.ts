import {
  type HireOutcome,
  type HireSpec,
  type HireUsage,
  type JsonValue,
  type MaybePromise,
  type RunHandle,
  ToolError,
} from "@ravi/kernel";
import { checkMessage, refuseSpawnTime } from "@ravi/kernel/loop";
import { rejected } from "../rejected.ts";
import { andThen } from "../and-then.ts";
import type { Execution } from "./execution.ts";
import { audit, isAudited } from "./observe.ts";
import { milliseconds, type PreparedHire, prepareHire, type Terms } from "./hire-spec.ts";

/** A seat, then the child's whole run. Never throws: a failure is a promise too. */
export function hire(exec: Execution, terms: Terms): Promise<HireOutcome> {
  try {
    return Promise.resolve(andThen(prepareHire(exec, terms, false), hirePrepared, exec));
  } catch (error) {
    return rejected(error);
  }
}

function hirePrepared({ spec, answered }: PreparedHire, exec: Execution): MaybePromise<HireOutcome> {
  return answered ?? exec.engine.hire(spec).then((outcome) => hired(exec, spec, outcome));
}

function hired(exec: Execution, spec: HireSpec, outcome: HireOutcome): HireOutcome {
  auditHire(exec, spec, outcome);
  noteStop(exec, outcome);
  return outcome;
}

export async function spawn(exec: Execution, terms: Terms): Promise<RunHandle> {
  refuseSpawnTime(terms);
  const prepared = await prepareHire(exec, terms, true);
  const { spec } = prepared;
  if (prepared.answered !== undefined) return handleOf(exec, prepared);
  try {
    const handle = await exec.engine.spawn(spec);
    auditHire(exec, spec, { status: "completed" });
    return handle;
  } catch (error) {
    auditHire(exec, spec, { status: "denied" });
    throw error;
  }
}

export async function join(exec: Execution, handle: RunHandle): Promise<HireOutcome> {
  const outcome = exec.answered?.get(handle.execId) ?? (await exec.engine.join(handle.execId));
  noteStop(exec, outcome);
  return outcome;
}

/** Where an agent ends because somebody below it was cut off, that limit is what stopped it. */
export function noteStop(exec: Execution, { stoppedBy }: HireUsage): void {
  if (stoppedBy !== undefined) exec.stoppedBy = stoppedBy;
}

/** Says something to a living child. */
export async function ask(
  exec: Execution,
  key: string,
  handle: RunHandle,
  message: JsonValue,
  timeoutS: number | undefined,
): Promise<JsonValue> {
  const timeoutMs = milliseconds("ask.timeoutS", timeoutS);
  // The child reads it from its record after a crash.
  checkMessage("ask.message", message);
  const isAnswered = exec.answered?.has(handle.execId) === true;
  const heard = isAnswered ? undefined : await exec.engine.ask(key, handle.execId, message, { timeoutMs });
  if (heard !== undefined && "reply" in heard) return heard.reply;
  const hasEnded = heard === undefined || heard.ended === true;
  throw new ToolError({
    toolName: handle.agentId,
    message: hasEnded
      ? `${handle.agentId} has ended without a reply; join it for what came of it`
      : `no reply from ${handle.agentId} in time`,
    retryable: !hasEnded,
  });
}

/** A hire is provable by who was hired and whether there was a seat; its child's fate is told by its own entries. */
export function auditHire(exec: Execution, spec: HireSpec, { status }: Pick<HireOutcome, "status">): void {
  if (!isAudited(exec)) return;
  const outcome = status === "denied" ? "denied" : "ok";
  audit(exec, {
    action: "hire",
    target: spec.agentName,
    outcome,
    details: { key: spec.key, agentId: spec.agentId },
  });
}

/** For one whom nobody hired, because a layer answered: it is over already. */
function handleOf(exec: Execution, { spec, answered }: PreparedHire): RunHandle {
  const status = answered?.status === "completed" ? "completed" : "partial";
  return {
    runId: exec.supervision.runId,
    execId: spec.execId,
    agentId: spec.agentId,
    status,
    cancel: () => {},
  };
}
