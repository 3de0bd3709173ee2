import {
  type AgentAccount,
  errorFromJSON,
  errorToJSON,
  ExecId,
  type HireOutcome,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  type RaviError,
  type RunId,
  type RunLimits,
  type RunResult,
  type SerializedError,
  type StoppedBy,
  type Usage,
} from "@ravi/kernel";
import { exceededIn, runLimits } from "@ravi/kernel/loop";
import { isCrash } from "./context/host.ts";
import { textAt } from "./engine/body.ts";
import { leftInDoubt } from "./engine/decisions.ts";
import { InProcessEngine } from "./engine/in-process.ts";
import { InProcessStart } from "./engine/start.ts";
import { Suspension } from "./engine/suspension.ts";
import { promised } from "./rejected.ts";
import type { Start } from "./run-start.ts";
import { totalOf } from "./tree/accounts.ts";
import { withAgentLedger } from "./tree/ledgers.ts";
import type { Tree } from "./tree/tree.ts";

/** One attempt at a run in this process, from its first step to its result. */
export class LiveRun {
  private readonly tree: Tree;
  private readonly start: Start;
  /** The error that the agent's own code threw. Another attempt may succeed. */
  crash: unknown;
  private engine: InProcessEngine | undefined;

  constructor(tree: Tree, start: Start) {
    this.tree = tree;
    this.start = start;
  }

  /** Runs to the end. `next` gets the result and may replace it. */
  toEnd(next: (result: RunResult) => MaybePromise<RunResult> = asItIs): Promise<RunResult> {
    const { refused } = this.start;
    if (refused !== undefined)
      return promised(() => next(this.over({ status: refused.status, result: refused })));
    return promised(() => this.begin()).then(
      (outcome) => next(this.over(outcome)),
      (error: unknown) => next(this.broken(error)),
    );
  }

  /** The result of a run that is suspended before it begins. */
  suspended(why: RaviError): RunResult {
    return this.broken(this.tree.suspend(why.message, why));
  }

  private begin(): Promise<HireOutcome> {
    this.engine = this.makeEngine();
    return this.engine.run();
  }

  private over(outcome: HireOutcome): RunResult {
    this.leave(outcome);
    // The children were suspended for a restart of the crashed root. If there is none, they ended with it.
    if (this.tree.suspension !== undefined) this.tree.accounts.cancelSuspended();
    const { recording } = this.tree;
    if (recording !== undefined) for (const key of leftInDoubt(recording)) this.tree.inDoubt.add(key);
    return this.resultOf(outcome);
  }

  private broken(error: unknown): RunResult {
    this.leave(undefined);
    if (!(error instanceof Suspension)) throw error;
    this.tree.accounts.suspend();
    return this.make("suspended", NO_OUTPUT, undefined, error.why ?? error);
  }

  /** Closes the engine and the tree, also if the run failed before there was an engine. */
  private leave(outcome: HireOutcome | undefined): void {
    try {
      this.engine?.over(outcome);
    } finally {
      this.tree.close();
    }
  }

  private makeEngine(): InProcessEngine {
    const { tree, start } = this;
    const { agent, input, deadline, root } = start;
    return new InProcessEngine({
      tree,
      token: tree.token,
      ledger: withAgentLedger(agent, tree.ledger, tree.ports.logger),
      start: new InProcessStart({
        tree,
        agent,
        execId: ExecId(tree.runId),
        supervision: root,
        input,
        deadline,
        onPreempt: "park",
        isResumed: tree.recording !== undefined,
      }),
    });
  }

  private resultOf(outcome: HireOutcome): RunResult {
    if ("result" in outcome) {
      const status = outcome.status === "completed" ? "completed" : "partial";
      return this.make(status, outcome.result, outcome.stoppedBy);
    }
    const error = "error" in outcome ? outcome.error : undefined;
    if (error !== undefined && isCrash(error)) this.crash = error;
    return this.make(outcome.status === "cancelled" ? "cancelled" : "failed", NO_OUTPUT, undefined, error);
  }

  private make(
    status: RunResult["status"],
    { output, structured, stopReason }: Pick<RunResult, "output" | "structured" | "stopReason">,
    stoppedBy?: StoppedBy,
    error?: RaviError,
  ): RunResult {
    const { runId, accounts, doubts: inDoubt, ledger, root } = this.tree;
    const { list } = accounts;
    const { usage, cost } = totalOf(list);
    const agents = list.map((account) => account.toJSON());
    const limits = limitsOf(this.tree);
    const exceeded = ledger && exceededIn(ledger.used, limits, root.agentId);
    // A failed run has no structured result and no stop reason.
    if (error !== undefined) {
      const failed = { runId, status, output, error, usage, cost, inDoubt, limits, agents };
      return exceeded === undefined ? failed : { ...failed, exceeded };
    }
    const result = {
      runId,
      status,
      output,
      structured,
      stopReason,
      usage,
      cost,
      inDoubt,
      limits,
      agents,
    };
    if (stoppedBy === undefined && exceeded === undefined) return result;
    return { ...result, ...(stoppedBy && { stoppedBy }), ...(exceeded && { exceeded }) };
  }
}

const NO_OUTPUT = Object.freeze({ output: "" });

function asItIs(result: RunResult): RunResult {
  return result;
}

function limitsOf({ root, headcount, ledger, granted }: Tree): RunLimits {
  return runLimits(root, { isCounted: headcount !== undefined, isMetered: ledger !== undefined }, granted);
}

/** Whether the record of the result consists of plain data that nobody else holds, so that the journal need not copy it. */
export function isStatusGiven({ structured, stoppedBy, exceeded, error }: RunResult): boolean {
  return structured === undefined && stoppedBy === undefined && exceeded === undefined && error === undefined;
}

/** What is recorded of a result: enough to return it again to a caller that resumes a finished run. */
export function statusRecord(result: RunResult): JsonObject {
  const { status, output, structured, stopReason, error, usage, cost, inDoubt, limits, agents } = result;
  const { stoppedBy, exceeded } = result;
  // The result belongs to the caller, who may change it, so everything is copied.
  const record = {
    status,
    output,
    usage: { ...usage },
    cost,
    inDoubt: inDoubt && copyOf(inDoubt),
    limits: limits && limitsRecord(limits),
    agents: agents?.map(accountRecord),
    stopReason,
  };
  if (isStatusGiven(result)) return record;
  return {
    ...record,
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded: [...exceeded] }),
    ...(error !== undefined && { error: errorToJSON(error) }),
  };
}

/** It is usually empty, and copying a frozen array takes 4 µs. */
function copyOf(keys: readonly string[]): string[] {
  return keys.length === 0 ? [] : [...keys];
}

function accountRecord(account: AgentAccount): JsonObject {
  return { ...account, usage: { ...account.usage } };
}

/** As plain data: values with a `toJSON` method make serializing the whole record three times as slow. */
function limitsRecord(limits: RunLimits): JsonObject {
  return {
    spawnBudget: limits.spawnBudget?.toJSON() ?? null,
    executionBudget: limits.executionBudget?.toJSON() ?? null,
  };
}

/** The recorded result; undefined if the run is not over. */
export function recordedResult(runId: RunId, body: JsonObject): RunResult | undefined {
  const status = body["status"] as RunResult["status"] | "running";
  if (status === "running" || status === "suspended") return undefined;
  const error = body["error"];
  const stoppedBy = body["stoppedBy"] as StoppedBy | undefined;
  const exceeded = body["exceeded"] as readonly StoppedBy[] | undefined;
  return {
    runId,
    status,
    output: textAt(body, "output"),
    structured: body["structured"],
    stopReason: body["stopReason"] as RunResult["stopReason"],
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(exceeded !== undefined && { exceeded }),
    error: error === undefined ? undefined : (errorFromJSON(error as SerializedError) as RaviError),
    usage: body["usage"] as Usage,
    cost: body["cost"] as number | null,
    inDoubt: body["inDoubt"] as readonly string[],
    limits: body["limits"] as RunLimits | undefined,
    agents: body["agents"] as readonly AgentAccount[] | undefined,
  };
}
