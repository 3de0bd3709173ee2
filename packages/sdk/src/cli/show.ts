import { inspect, type PendingWait, type RecordedCall, type RunReport } from "@ravi/sdk";
import { findRun } from "./find.ts";
import type { Request } from "./perform.ts";
import { oneLine, printable } from "./printable.ts";
import { table } from "./table.ts";
import { duration } from "./time.ts";
import { isBudget, kindWords } from "./waits.ts";

/** Everything about one run. */
export async function showRun({ words: [given = ""], journal, options, now }: Request): Promise<string> {
  const { runId } = await findRun(journal, given);
  const report = await inspect(runId, { journal });
  if (options.json === true) return JSON.stringify(report, null, 2);
  const sections = [
    table(factsOf(report, now)),
    printable(String(report.tree)),
    listed(
      "under way:",
      report.openCalls.map((call) => callLine(call, report, now)),
    ),
    listed(
      "waits for:",
      (report.waitingFor ?? []).map((wait) => waitLine(wait, report, now)),
    ),
    listed("may have been paid for twice:", report.inDoubt),
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

function factsOf(report: RunReport, now: number): string[][] {
  const { runId, agent, startedAt, updatedAt, input, result } = report;
  const whose = (["sessionId", "tenantId", "userId"] as const).flatMap((name) => {
    const value = report[name];
    return value === undefined ? [] : [[name.replace("Id", ""), oneLine(value)]];
  });
  return [
    ["run", runId],
    ["agent", agent],
    ...whose,
    ["status", statusOf(report)],
    ["started", `${new Date(startedAt).toISOString()}, ${duration(now - startedAt)} ago`],
    ["last entry", `${duration(now - updatedAt)} ago`],
    ...(result === undefined ? [["process", processOf(report)]] : []),
    ["spent", spentOf(report)],
    ["input", oneLine(input, 300)],
    ...(result === undefined || result.output === "" ? [] : [["output", oneLine(result.output, 1_000)]]),
  ];
}

/** With the reason, if there is one. Some errors begin with the status themselves. */
function statusOf({ status, result, error }: RunReport): string {
  const { stopReason = "done" } = result ?? {};
  const reason = stopReason === "done" ? status : `${status} (${stopReason})`;
  const message = oneLine((result?.error ?? error)?.message ?? "", 300);
  if (message === "") return reason;
  return message.startsWith(status) ? message : `${reason}: ${message}`;
}

function processOf({ heldBy, waitingFor = [] }: RunReport): string {
  if (heldBy !== undefined) return heldBy.owner;
  const isUpToOthers = waitingFor.some(({ kind }) => kind !== "timer");
  return isUpToOthers ? "none; resume it when it was answered" : "none; it goes on when it is resumed";
}

function spentOf({ cost, usage, limits: { budget } }: RunReport): string {
  const dollars = cost === null ? "an unknown amount" : `$${Number(cost.toPrecision(4))}`;
  const tokens = grouped(usage.inputTokens + usage.outputTokens);
  const ofDollars = budget.usd === null ? "" : ` of $${budget.usd}`;
  const ofTokens = budget.tokens === null ? "" : ` of ${grouped(budget.tokens)}`;
  return `${dollars}${ofDollars}, ${tokens}${ofTokens} tokens`;
}

/** With a comma at each thousand. */
function grouped(amount: number): string {
  return String(amount).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

function callLine(
  { execId, kind, name, startedAt, key }: RecordedCall,
  { tree }: RunReport,
  now: number,
): string {
  const agentId = tree.agents().find((agent) => agent.execId === execId)?.agentId ?? execId;
  const what = kind === "llm" ? `asks ${name}` : `calls ${name}`;
  return oneLine(`${agentId} ${what} (${key}), for ${duration(now - startedAt)}`, 200);
}

function waitLine(wait: PendingWait, { runId }: RunReport, now: number): string {
  const { kind, agentId, since, until } = wait;
  const end = until === undefined ? "" : `, until ${new Date(until).toISOString()}`;
  const line = `${agentId} has waited ${duration(now - since)} for ${kindWords(kind)}${end}`;
  return [oneLine(line, 200), ...questionOf(wait), ...howTo(wait, runId)].join("\n    ");
}

/** In full: nobody should allow what they have not seen. */
function questionOf({ question }: PendingWait): readonly string[] {
  if (question === undefined) return [];
  const isCall = typeof question === "object" && question !== null && "tool" in question;
  if (!isCall) return [oneLine(typeof question === "string" ? question : JSON.stringify(question), Infinity)];
  const { tool, arguments: given = TOO_LONG } = question as {
    readonly tool: unknown;
    readonly arguments?: unknown;
  };
  return [oneLine(`${String(tool)} ${typeof given === "string" ? given : JSON.stringify(given)}`, Infinity)];
}

const TOO_LONG = "with arguments that are too long to be listed";

function howTo({ kind, name }: PendingWait, runId: string): readonly string[] {
  if (kind === "timer") return [];
  if (kind === "decision") {
    const decisions = `{ ${JSON.stringify(name)}: "retry" }`;
    return [`resume(${JSON.stringify(runId)}, { …, decisions: ${decisions} }), or "skip" or "fail"`];
  }
  const where = `${quote(runId)} ${quote(name)}`;
  if (kind === "signal" || isBudget(name)) return [`ravi deliver ${where} '<json>'`];
  return [`ravi approve ${where}`, `ravi deny ${where} --reason "…"`];
}

/** As a word of a shell. */
function quote(word: string): string {
  const safe = printable(word);
  return /^[\w@%+=:,./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", String.raw`'\''`)}'`;
}

function listed(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [title, ...lines.map((line) => `  ${line}`)].join("\n");
}
