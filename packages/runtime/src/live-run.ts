import {
  type Agent,
  type AgentResult,
  errorFromJSON,
  errorToJSON,
  ExecId,
  type HireOutcome,
  type JsonObject,
  type JsonValue,
  type RaviError,
  type RunId,
  type RunResult,
  type SerializedError,
  type Usage,
} from "@ravi/kernel";
import { Execution } from "./context/execution.ts";
import { textAt } from "./engine/body.ts";
import { ExecutionInbox } from "./context/inbox.ts";
import { withAgentLedger } from "./context/ledgers.ts";
import { planFor } from "./context/plan.ts";
import { host, isCrash } from "./host.ts";
import { Suspension } from "./engine/suspension.ts";
import type { Tree } from "./tree/tree.ts";

export interface LiveRunOptions {
  readonly agent: Agent;
  readonly input: string;
  readonly tree: Tree;
  readonly deadline: number | null;
  readonly refused: AgentResult | undefined;
}

/** One go at a run in this process, from its first step to its result. */
export class LiveRun {
  private readonly tree: Tree;
  private readonly options: LiveRunOptions;
  /** What the agent's own code threw; a crash, which another go may survive. */
  crash: unknown;

  constructor(options: LiveRunOptions) {
    this.options = options;
    this.tree = options.tree;
  }

  async toEnd(): Promise<RunResult> {
    const { tree } = this;
    try {
      return await this.result();
    } finally {
      tree.close();
    }
  }

  private async result(): Promise<RunResult> {
    const { tree, options } = this;
    const { agent, input, deadline, refused } = options;
    if (refused !== undefined) return this.resultOf({ status: refused.status, result: refused });
    const execution = new Execution({
      tree,
      agent,
      plan: planFor(agent, tree.ports),
      supervision: tree.root,
      execId: ExecId(tree.runId),
      token: tree.token,
      deadline,
      ledger: withAgentLedger(agent, tree.ledger),
      onPreempt: "park",
    });
    try {
      return this.resultOf(await host(execution, new ExecutionInbox(execution, input)));
    } catch (error) {
      if (!(error instanceof Suspension)) throw error;
      return this.make("suspended", { output: "", error: error.why });
    }
  }

  private resultOf(outcome: HireOutcome): RunResult {
    if ("result" in outcome) {
      const { output, structured, stopReason } = outcome.result;
      const status = outcome.status === "completed" ? "completed" : "partial";
      return this.make(status, { output, structured, stopReason });
    }
    const error = "error" in outcome ? outcome.error : undefined;
    if (error !== undefined && isCrash(error)) this.crash = error;
    return this.make(outcome.status === "cancelled" ? "cancelled" : "failed", { output: "", error });
  }

  private make(
    status: RunResult["status"],
    rest: Pick<RunResult, "output" | "structured" | "stopReason" | "error">,
  ): RunResult {
    const { runId, accounts, inDoubt } = this.tree;
    return { runId, status, ...rest, usage: accounts.usage, cost: accounts.cost, inDoubt: [...inDoubt] };
  }
}

/** What is written down of a result: enough to give it again to whoever asks for a run that is over. */
export function statusRecord(result: RunResult): JsonObject {
  const { status, output, structured, stopReason, error, usage, cost, inDoubt } = result;
  return {
    status,
    output,
    usage,
    cost,
    inDoubt,
    ...(structured !== undefined && { structured: structured as JsonValue }),
    ...(stopReason !== undefined && { stopReason }),
    ...(error !== undefined && { error: errorToJSON(error) }),
  };
}

/** The result that is on record; undefined for a run that is not over. */
export function recordedResult(runId: RunId, body: JsonObject): RunResult | undefined {
  const status = body["status"] as RunResult["status"] | "running";
  if (status === "running" || status === "suspended") return undefined;
  const error = body["error"];
  return {
    runId,
    status,
    output: textAt(body, "output"),
    structured: body["structured"],
    stopReason: body["stopReason"] as RunResult["stopReason"],
    error: error === undefined ? undefined : (errorFromJSON(error as SerializedError) as RaviError),
    usage: body["usage"] as Usage,
    cost: body["cost"] as number | null,
    inDoubt: body["inDoubt"] as readonly string[],
  };
}
