import { Priority, totalTokens } from "@ravi/kernel";
import type { BillSummary } from "@ravi/testing";
import type { Outcome } from "./compose.ts";
import { byHiring } from "./hire-path.ts";
import type { RuleCounts } from "./view/board.ts";

/** A finished run with everything that the report shows. */
export interface Ended {
  readonly result: Outcome;
  readonly counts: RuleCounts;
  /** The stand-in server's own bill; null if a real model was used. */
  readonly bill: BillSummary | null;
}

/** Everything that `--json` prints. */
export function toJSON({ result, counts, bill }: Ended) {
  const agents = inOrder(result);
  const withStatus = (status: string): number => agents.filter((agent) => agent.status === status).length;
  return {
    runId: result.runId,
    status: result.status,
    output: result.output,
    usage: result.usage,
    costUsd: result.cost,
    bill: bill === null ? null : { calls: bill.calls, costUsd: bill.costUsd },
    agents: agents.map(({ agentId, parent, priority, status, usage, costUsd }) => ({
      id: agentId,
      parent,
      priority,
      status,
      usage,
      costUsd,
    })),
    events: { ...counts, partial: withStatus("partial"), denied: withStatus("denied") },
    ...(result.inDoubt !== undefined && result.inDoubt.length > 0 && { inDoubt: result.inDoubt }),
    ...(result.stoppedBy !== undefined && { stoppedBy: result.stoppedBy }),
    ...(result.error !== undefined && { error: result.error.message }),
  };
}

function inOrder({ agents = [] }: Outcome) {
  return agents.toSorted((a, b) => byHiring(a.agentId, b.agentId));
}

/** The answer, if there is one, and the report: what each agent spent, and what the rules did. */
export function toText(ended: Ended): string {
  const { result, bill } = ended;
  const { events } = toJSON(ended);
  const rows = inOrder(result).map(({ agentId, priority, status, usage, costUsd, modelCalls }) => [
    agentId,
    NAMES[priority],
    status,
    String(modelCalls),
    String(totalTokens(usage)),
    money(costUsd),
  ]);
  const total = ["all", "", result.status, "", String(totalTokens(result.usage)), money(result.cost)];
  const lines = [
    ...(result.output === "" ? [] : [result.output, ""]),
    ...table([["agent", "priority", "status", "calls", "tokens", "dollars"], ...rows, total]),
    "",
    ...ruleLines(events, inOrder(result).filter(isUnheard).length),
  ];
  if (result.stoppedBy !== undefined) {
    const { dimension, used, limit, scope } = result.stoppedBy;
    lines.push(
      `Stopped by a limit: ${dimension} of ${scope}, ${used} of ${limit} used; the next step did not fit.`,
    );
  }
  if (bill !== null)
    lines.push(
      `The server's own bill: ${bill.calls} calls, ${money(bill.costUsd)} dollars (simulated prices; nothing is paid).`,
    );
  const { runId, inDoubt = [] } = result;
  if (inDoubt.length > 0)
    lines.push(
      "In flight when the run was stopped, so possibly made twice; each model call among them counts with the most that it may have cost:",
      // Each key begins with the id of the run, and then `/` or `:`.
      ...inDoubt.map((key) => `  ${key.slice(runId.length + 1)}`),
    );
  return lines.join("\n");
}

/** Whether the agent could not afford a single model call, so that it has no partial result either. */
function isUnheard({ status, modelCalls }: ReturnType<typeof inOrder>[number]): boolean {
  return status === "partial" && modelCalls === 0;
}

function ruleLines(
  { preempted, resumed, partial, denied }: ReturnType<typeof toJSON>["events"],
  unheard: number,
): string[] {
  const lines: string[] = [];
  if (preempted > 0)
    lines.push(
      `Preempted: ${preempted} gave a slot to more urgent work; ${resumed} continued later, and nothing was paid for twice.`,
    );
  const landed = partial - unheard;
  if (landed > 0) lines.push(`Soft landing: ${landed} stopped at a limit, each with a partial result.`);
  if (unheard > 0) lines.push(`Cut off: ${unheard} could not afford a single call.`);
  if (denied > 0) lines.push(`Denied: ${denied} were not hired, because no slot was free.`);
  return lines;
}

const NAMES: Readonly<Record<Priority, string>> = {
  [Priority.BACKGROUND]: "background",
  [Priority.LOW]: "low",
  [Priority.NORMAL]: "normal",
  [Priority.HIGH]: "high",
  [Priority.CRITICAL]: "critical",
};

function money(usd: number | null): string {
  return usd === null ? "unpriced" : usd.toFixed(6);
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? [];
  // Text is aligned left, numbers right.
  return rows.map((row) =>
    row
      .map((cell, at) => (at < 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  "),
  );
}
