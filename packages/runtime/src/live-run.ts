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

/** One go at a run in this process, from its first step to its result. */
export class LiveRun {
  private readonly tree: Tree;
  private readonly start: Start;
  /** What the agent's own code threw; a crash, which another go may survive. */
  crash: unknown;
  private engine: InProcessEngine | undefined;

  constructor(tree: Tree, start: Start) {
    this.tree = tree;
    this.start = start;
  }

  /** With what is to be done about its result then. */
  toEnd(next: (result: RunResult) => MaybePromise<RunResult> = asItIs): Promise<RunResult> {
    const { refused } = this.start;
    if (refused !== undefined)
      return promised(() => next(this.over({ status: refused.status, result: refused })));
    return promised(() => this.begin()).then(
      (outcome) => next(this.over(outcome)),
      (error: unknown) => next(this.broken(error)),
    );
  }

  /** It does not even begin. */
  suspended(why: RaviError): RunResult {
    return this.broken(this.tree.suspend(why.message, why));
  }

  private begin(): Promise<HireOutcome> {
    this.engine = this.makeEngine();
    return this.engine.run();
  }

  private over(outcome: HireOutcome): RunResult {
    this.leave(outcome);
    // Unwound for another go at a root that has crashed. Where there is none, they have ended with it.
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

  /** What fails before there is anybody to run leaves nothing behind either. */
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
      ledger: withAgentLedger(agent, tree.ledger),
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
    // What has failed has neither a structure nor a reason of its own to stop.
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

/** Whether nobody else holds a part of what is written down of it, and all of that is plain. */
export function isStatusGiven({ structured, stoppedBy, exceeded, error }: RunResult): boolean {
  return structured === undefined && stoppedBy === undefined && exceeded === undefined && error === undefined;
}

/** What is written down of a result: enough to give it again to whoever asks for a run that is over. */
export function statusRecord(result: RunResult): JsonObject {
  const { status, output, structured, stopReason, error, usage, cost, inDoubt, limits, agents } = result;
  const { stoppedBy, exceeded } = result;
  // The result itself is its caller's, so all of this is copied.
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

/** Most often there is nothing in it, and a frozen list takes 4 µs to be copied. */
function copyOf(keys: readonly string[]): string[] {
  return keys.length === 0 ? [] : [...keys];
}

function accountRecord(account: AgentAccount): JsonObject {
  return { ...account, usage: { ...account.usage } };
}

/** As plain data: a value with a `toJSON` of its own makes writing the whole record three times as slow. */
function limitsRecord(limits: RunLimits): JsonObject {
  return {
    spawnBudget: limits.spawnBudget?.toJSON() ?? null,
    executionBudget: limits.executionBudget?.toJSON() ?? null,
  };
}

/** The result that is on record; undefined for a run that is not over. */
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
