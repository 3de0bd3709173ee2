import {
  ExecId,
  type HireOutcome,
  isRaviError,
  type RaviError,
  type RunResult,
  type StoppedBy,
} from "@ravi/kernel";
import { exceededIn, runLimits } from "@ravi/kernel/loop";
import { isCrash } from "../context/host.ts";
import { leftInDoubt } from "../engine/decisions.ts";
import { InProcessEngine } from "../engine/in-process.ts";
import { InProcessStart } from "../engine/start.ts";
import { Suspension } from "../engine/suspension.ts";
import type { Start } from "../run-start.ts";
import { endWith, type End } from "../promises/end.ts";
import { totalOf } from "../tree/accounts.ts";
import { withAgentLedger } from "../tree/ledgers.ts";
import type { Tree } from "../tree/tree.ts";

/** One attempt at a run in this process, from its first step to its result. */
export class RunAttempt {
  private readonly tree: Tree;
  private readonly start: Start;
  /** The error that the agent's own code threw. Another attempt may succeed. */
  crash: unknown;
  private engine: InProcessEngine | undefined;

  constructor(tree: Tree, start: Start) {
    this.tree = tree;
    this.start = start;
  }

  /** Runs to the end. */
  run(end: End<RunResult>): void {
    this.begin(
      (outcome) => endWith(end, () => this.finish(outcome)),
      (error) => endWith(end, () => this.unwind(error)),
    );
  }

  toEnd(): Promise<RunResult> {
    return new Promise((resolve, reject) => this.run({ ended: resolve, failed: reject }));
  }

  /** The result of a run that is suspended before it begins. */
  suspended(why: RaviError): RunResult {
    return this.unwind(this.tree.suspend(why.message, why));
  }

  private begin(resolve: (outcome: HireOutcome) => void, reject: (error: unknown) => void): void {
    const { refused } = this.start;
    if (refused !== undefined) return resolve({ status: refused.status, result: refused });
    try {
      this.engine = this.makeEngine();
    } catch (error) {
      return reject(error);
    }
    this.engine.begin(resolve, reject);
  }

  private finish(outcome: HireOutcome): RunResult {
    this.close(outcome);
    const { recording, accounts } = this.tree;
    accounts.cancelLiving();
    if (recording !== undefined) for (const key of leftInDoubt(recording)) this.tree.inDoubt.add(key);
    return this.resultOf(outcome);
  }

  private unwind(error: unknown): RunResult {
    this.close(undefined);
    if (!(error instanceof Suspension)) throw error;
    this.tree.accounts.suspend();
    return this.make("suspended", NO_OUTPUT, undefined, error.why ?? error);
  }

  /** Closes the engine and the tree, also if the run failed before there was an engine. */
  private close(outcome: HireOutcome | undefined): void {
    try {
      this.engine?.over(outcome);
    } finally {
      this.tree.close();
    }
  }

  private makeEngine(): InProcessEngine {
    const { tree, start } = this;
    const { agent, input, attachments, deadline, root } = start;
    return new InProcessEngine({
      tree,
      token: tree.token,
      ledger: withAgentLedger(agent, tree.ledger, tree),
      start: new InProcessStart({
        tree,
        agent,
        execId: ExecId(tree.runId),
        supervision: root,
        input,
        attachments,
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
    // Somebody else had what the agent needs, or its disk did not work. That says nothing about the run, so it is not its result: it can be
    // resumed.
    const isOfStore = isRaviError(error, "JOURNAL_LOCKED") || isRaviError(error, "JOURNAL_FAILED");
    if (isOfStore && this.engine?.isDurable === true) throw error;
    if (error !== undefined && isCrash(error)) this.crash = error;
    return this.make(outcome.status === "cancelled" ? "cancelled" : "failed", NO_OUTPUT, undefined, error);
  }

  private make(
    status: RunResult["status"],
    given: Pick<RunResult, "output" | "structured" | "stopReason" | "problem">,
    stoppedBy?: StoppedBy,
    error?: RaviError,
  ): RunResult {
    const { output, structured, stopReason, problem } = given;
    const { runId, accounts, doubts: inDoubt, headcount, ledger, root, granted } = this.tree;
    const { list } = accounts;
    const { usage, cost } = totalOf(list);
    const agents = list.map((account) => account.toJSON());
    const keepers = { isCounted: headcount !== undefined, isMetered: ledger !== undefined };
    const limits = runLimits(root, keepers, granted);
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
    if (stoppedBy === undefined && exceeded === undefined && problem === undefined) return result;
    return {
      ...result,
      ...(problem !== undefined && { problem }),
      ...(stoppedBy && { stoppedBy }),
      ...(exceeded && { exceeded }),
    };
  }
}

const NO_OUTPUT = Object.freeze({ output: "" });
