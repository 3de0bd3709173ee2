import type { ExecId } from "@ravi/kernel";
import type { RecordedCall, RunReport as Recorded } from "@ravi/runtime";
import { type Limits, limitsOf } from "../limits.ts";
import type { CallAccount, Calls } from "../tree/call-log.ts";
import { type RunTree, runTree } from "../tree/run-tree.ts";
import { checkOutside, looking, type OutsideOptions } from "./outside.ts";
import { type SdkResult, sdkResult } from "./result.ts";

/** What is on record of a run, whether it is over or not. */
export interface RunReport extends Omit<Recorded, "agents" | "calls" | "limits" | "result"> {
  /** The limits of the run, with what was granted beyond them. */
  readonly limits: Limits;
  /** Which agent hired which, and what each has spent so far. An agent that has not ended has the status of the run. */
  readonly tree: RunTree;
  /** Calls that have no end on record: they are under way, or wait until they can be sent, or did when the process died. */
  readonly openCalls: readonly RecordedCall[];
  /** The result, if the run is over. Its `structured` is as recorded: without the agent there is no schema to read it with. */
  readonly result?: SdkResult | undefined;
}

/**
 * Reads what is on record of a run, wherever it runs: who has worked and for how much, what it does and what it waits for. The agents are
 * not needed, and nothing is changed. Throws an `InvalidValueError` if there is no such run, or if it has not begun.
 */
export async function inspect(runId: string, options: OutsideOptions): Promise<RunReport> {
  checkOutside(options);
  return reportOf(await looking(options, (runtime) => runtime.inspect(runId)));
}

function reportOf({ agents, calls, limits, result, ...rest }: Recorded): RunReport {
  const log = new RecordedCalls(calls);
  const [root, ...others] = agents;
  // A run on record has at least the account of its root.
  if (root === undefined) throw new Error(`run ${rest.runId} has no agents on record`);
  return {
    ...rest,
    limits: limitsOf(limits, undefined),
    tree: runTree([root, ...others], log),
    openCalls: calls.filter(({ endedAt }) => endedAt === undefined),
    ...(result !== undefined && {
      result: sdkResult(result, { agentId: root.agentId, asked: undefined, log }),
    }),
  };
}

/** The calls that have ended, as a tree lists them. */
class RecordedCalls implements Calls {
  readonly dropped = 0;
  private readonly calls: ReadonlyMap<ExecId, readonly RecordedCall[]>;

  constructor(calls: readonly RecordedCall[]) {
    this.calls = Map.groupBy(calls, ({ execId }) => execId);
  }

  of(execId: ExecId): readonly CallAccount[] {
    return (this.calls.get(execId) ?? [])
      .filter(({ endedAt }) => endedAt !== undefined)
      .toSorted((one, other) => (one.endedAt ?? 0) - (other.endedAt ?? 0))
      .map(accountOf);
  }
}

function accountOf(call: RecordedCall): CallAccount {
  const { key, kind, name, status, startedAt, endedAt = startedAt, usage, costUsd } = call;
  return {
    key,
    kind,
    name,
    status: status === "ok" ? "ok" : "error",
    durationMs: endedAt - startedAt,
    ...(usage !== undefined && { usage }),
    ...(costUsd !== undefined && { costUsd }),
  };
}
