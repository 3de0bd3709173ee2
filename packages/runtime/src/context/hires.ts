import {
  type HireOutcome,
  type HireSpec,
  type HireUsage,
  isPromiseLike,
  type JsonValue,
  type MaybePromise,
  type RunHandle,
  ToolError,
} from "@ravi/kernel";
import { type AskOptions, askOptions, checkMessage, ownAttachments } from "@ravi/kernel/loop";
import { rejected } from "../promises/rejected.ts";
import { andThen } from "../promises/and-then.ts";
import type { Execution } from "./execution.ts";
import { audit, isAudited } from "./observe.ts";
import { milliseconds, type PreparedHire, prepareHire, type Terms } from "./hire-spec.ts";

/** Hires an agent and waits for its end. Never throws: a failure is a rejected promise. */
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

/** The same for a batch, in which a failure is an outcome. With one `then` for both, a hire makes one promise less. */
export function hireOrFail<F>(
  exec: Execution,
  terms: Terms,
  failed: (error: unknown) => F,
): Promise<HireOutcome | F> {
  try {
    const prepared = prepareHire(exec, terms, false);
    if (isPromiseLike(prepared) || prepared.answered !== undefined)
      return Promise.resolve(andThen(prepared, hirePrepared, exec)).then(undefined, failed);
    const { spec } = prepared;
    return exec.engine.hire(spec).then((outcome) => hired(exec, spec, outcome), failed);
  } catch (error) {
    return Promise.resolve(failed(error));
  }
}

/** Notes a hire that has ended, and returns its outcome. */
export function hired(exec: Execution, spec: HireSpec, outcome: HireOutcome): HireOutcome {
  auditHire(exec, spec, outcome.status);
  noteStop(exec, outcome);
  return outcome;
}

/** Starts a child and returns its handle without waiting for its end. Throws if it is denied. */
export async function spawn(exec: Execution, terms: Terms): Promise<RunHandle> {
  const prepared = await prepareHire(exec, terms, true);
  const { spec } = prepared;
  if (prepared.answered !== undefined) return handleOf(exec, prepared);
  try {
    const handle = await exec.engine.spawn(spec);
    auditHire(exec, spec, undefined);
    return handle;
  } catch (error) {
    auditHire(exec, spec, "denied");
    throw error;
  }
}

/** Waits for the end of a child that `spawn` has started. */
export async function join(exec: Execution, handle: RunHandle): Promise<HireOutcome> {
  const outcome = exec.answered?.get(handle.execId) ?? (await exec.engine.join(handle.execId));
  noteStop(exec, outcome);
  return outcome;
}

/** Remembers the limit that has cut a child off: if the agent ends because of that, this limit has stopped it too. */
function noteStop(exec: Execution, { stoppedBy }: HireUsage): void {
  if (stoppedBy !== undefined) exec.stoppedBy = stoppedBy;
}

/**
 * Sends a message to a running child and returns its reply. Throws a `ToolError` if the child ends without a reply, or does not reply in
 * time.
 */
export async function ask(
  exec: Execution,
  key: string,
  handle: RunHandle,
  message: JsonValue,
  options: AskOptions,
): Promise<JsonValue> {
  const { timeoutS, attachments: given } = askOptions(options);
  const timeoutMs = milliseconds("ask.timeoutS", timeoutS);
  // It has to be JSON, because after a crash the child reads it from its record.
  checkMessage("ask.message", message);
  const attachments = ownAttachments("ask.attachments", given);
  const isAnswered = exec.answered?.has(handle.execId) === true;
  const spec = { timeoutMs, attachments };
  const response = isAnswered ? undefined : await exec.engine.ask(key, handle.execId, message, spec);
  if (response !== undefined && "reply" in response) return response.reply;
  const hasEnded = response === undefined || response.ended === true;
  throw new ToolError({
    toolName: handle.agentId,
    message: hasEnded
      ? `${handle.agentId} ended without a reply; ctx.join(handle) gives its outcome`
      : `${handle.agentId} did not reply within ${timeoutS} s`,
    retryable: !hasEnded,
  });
}

/** Adds to the audit log who was hired, whether that was denied, and how the child ended; undefined if it has only begun. */
function auditHire(exec: Execution, spec: HireSpec, status: HireOutcome["status"] | undefined): void {
  if (!isAudited(exec)) return;
  const outcome = status === "denied" ? "denied" : "ok";
  audit(exec, {
    action: "hire",
    target: spec.agentName,
    outcome,
    details: { key: spec.key, agentId: spec.agentId, ...(status !== undefined && { status }) },
  });
}

/** The handle of an agent that was not hired, because a layer answered for it. It has ended already. */
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
