import type { Agent, IdSource } from "@ravi/kernel";
import {
  checkRun,
  type EventListener,
  newRoot,
  ownAttachments,
  RUN_START_OPTIONS,
  type RunStartOptions,
  versionName,
} from "@ravi/kernel/loop";
import { refuseOwnLedger } from "../own-ledger.ts";
import type { Launch } from "../root/messages.ts";
import { checkSize } from "../sizes.ts";

/** Options of `run`. All are optional. If a run of the given `runId` exists, `result` rejects with an `InvalidValueError`. */
export interface RestateRunOptions extends RunStartOptions {
  /**
   * Called with each event of the tree, in order, as it arrives here; the run does not wait for it. The result comes after the last one.
   * Errors that it throws are logged and ignored.
   */
  readonly onEvent?: EventListener | undefined;
}

const OPTIONS: readonly (keyof RestateRunOptions)[] = [...RUN_START_OPTIONS, "onEvent"];

/**
 * Describes a new run from the caller's options and the agent's defaults. Whether its limits can be enforced is checked by the
 * worker that has its tree.
 */
export function launchRun(
  agent: Agent,
  input: string,
  options: RestateRunOptions,
  { ids, now }: { readonly ids: IdSource; readonly now: number },
): Launch {
  checkRun(agent, input, options, OPTIONS);
  refuseOwnLedger(agent);
  const root = newRoot(agent, options, ids);
  const attachments = ownAttachments("run options.attachments", options.attachments);
  const { deadlineS } = root.executionBudget;
  const launch: Launch = {
    runId: root.runId,
    execId: root.runId,
    agent: versionName(agent),
    supervision: root.toJSON(),
    input,
    ...(attachments !== undefined && { attachments }),
    tenantId: options.tenantId ?? null,
    userId: options.userId ?? null,
    metadata: options.metadata ?? {},
    deadline: deadlineS === null ? null : now + deadlineS * 1000,
    onPreempt: "park",
  };
  checkSize("input, with its attachments and metadata", launch);
  return launch;
}
