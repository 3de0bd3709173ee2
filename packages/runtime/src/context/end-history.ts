import { type HireOutcome, HistoryRetention, JournalFailedError, type MaybePromise } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { tryOrLog } from "../promises/try-or-log.ts";
import { type CancelledWait, waitUnlessCancelled } from "./bounded-wait.ts";
import type { Ending } from "./ending.ts";
import type { Execution } from "./execution.ts";

/** How long a history may take after the run was cancelled. Longer than a listener: a disk may be busy, or far away. */
const HISTORY_MS = 1_000;

/**
 * Stores what the run has added to its history, if it has a result. Not if it was cut off before the first answer, by its budget or its
 * time: who said something to it will say it again, and the next run would read it twice.
 */
export function keepHistory({ exec, outcome }: Ending): MaybePromise<void> {
  if (exec.ports.history === undefined || !("result" in outcome)) return undefined;
  const { status, output } = outcome.result;
  if (status !== "completed" && output === "" && !exec.history.isAnswered) return undefined;
  const { supervision, engine } = exec;
  const keep = (): MaybePromise<void> => waitUnlessCancelled(exec.history.keep(), waitFor(exec, outcome));
  // The root of a durable run fails here: it can be resumed, and then has its result and writes its history again.
  return supervision.isRoot && engine.isDurable ? keep() : orKeepResult(exec, "kept", keep);
}

/** Deletes a history that is kept only as long as the run, whatever its outcome. */
export function forgetHistory({ exec, outcome }: Ending): MaybePromise<void> {
  const { history } = exec.ports;
  if (history === undefined || exec.supervision.retention !== HistoryRetention.RUN) return undefined;
  const key = exec.history.key();
  if (key === undefined) return undefined;
  return orKeepResult(exec, "cleared", () => waitUnlessCancelled(history.clear(key), waitFor(exec, outcome)));
}

function waitFor(exec: Execution, outcome: HireOutcome): CancelledWait {
  return { exec, outcome, limitMs: HISTORY_MS, onLate: failLate };
}

function failLate({ agentId }: Execution): never {
  const cause = new Error(`no answer within ${HISTORY_MS} ms after the run was stopped`);
  const hint = "whether it was changed is not known; a run that is not over can be resumed";
  throw new JournalFailedError({ what: `the history of ${agentId}`, final: true, cause, hint });
}

/** If `act` fails, that is only reported: the agent has done its work, and its result must not be lost. */
function orKeepResult(
  exec: Execution,
  what: "kept" | "cleared",
  act: () => MaybePromise<void>,
): MaybePromise<void> {
  const message = `the history of ${exec.agentId} could not be ${what}; its result is still valid`;
  // There may be no log, so an event tells of a history that was not kept. When one is cleared, the last event has been sent.
  const onFailure = (error: unknown): void => {
    if (what === "kept")
      exec.emit({ type: "progress", name: "historyLost", data: { error: messageOf(error) } });
  };
  return tryOrLog(exec, "error", message, act, onFailure);
}
