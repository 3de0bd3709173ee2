import { inspect, type PendingWait, type RecordedCall, type RunReport } from "@ravi/sdk";
import { dollars, grouped } from "./amounts.ts";
import { findRun } from "./find.ts";
import { cancelWords } from "./list.ts";
import type { Request } from "./perform.ts";
import { howToAnswer } from "./how-to.ts";
import { json, oneLine } from "./printable.ts";
import { table } from "./table.ts";
import { dateOf, duration } from "./time.ts";
import { kindWords, questionOf } from "./waits.ts";

/** Everything about one run. */
export async function showRun({ words: [given = ""], journal, options, now }: Request): Promise<string> {
  const { runId } = await findRun(journal, given, "look");
  const report = await inspect(runId, { journal });
  if (options.json === true) return json(report);
  const { openCalls, waitingFor = [], inDoubt } = report;
  const commands = (wait: PendingWait): readonly string[] => howToAnswer(wait, runId, options.journal);
  const sections = [
    table(factsOf(report, now)),
    String(report.tree),
    listed(
      openTitle(report),
      openCalls.map((call) => callLine(call, report, now)),
    ),
    listed(
      "waits for:",
      waitingFor.map((wait) => waitLine(wait, now, commands(wait))),
    ),
    listed("in doubt, because they were cut off:", inDoubt),
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

/** Whether anybody still makes those calls. */
function openTitle({ heldBy, result }: RunReport): string {
  if (result !== undefined) return "given up:";
  return heldBy === undefined ? "under way when its process ended:" : "under way:";
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
    ["started", `${dateOf(startedAt)}, ${duration(now - startedAt)} ago`],
    ["last entry", `${duration(now - updatedAt)} ago`],
    ...(result === undefined ? [["process", processOf(report)]] : []),
    ["spent", spentOf(report)],
    ["input", oneLine(input, 300)],
    ...(result === undefined || result.output === "" ? [] : [["output", oneLine(result.output, 1_000)]]),
  ];
}

/** With the reason, if there is one. Some errors begin with the status themselves. */
function statusOf({ status, result, error, cancelReason, heldBy }: RunReport): string {
  if (cancelReason !== undefined) return `${status}, ${cancelWords(cancelReason, heldBy !== undefined)}`;
  const { stopReason = "done" } = result ?? {};
  const reason = stopReason === "done" ? status : `${status} (${stopReason})`;
  const message = oneLine((result?.error ?? error)?.message ?? "", 300);
  if (message === "") return reason;
  return message.startsWith(status) ? message : `${reason}: ${message}`;
}

function processOf({ heldBy, cancelReason, waitingFor = [] }: RunReport): string {
  if (heldBy !== undefined) return heldBy.owner;
  if (cancelReason !== undefined) return "none; it ends when it is resumed";
  if (waitingFor.some(({ kind }) => kind === "decision")) return "none; resume it with a decision";
  const isUpToOthers = waitingFor.some(({ kind }) => kind !== "timer");
  return isUpToOthers ? "none; resume it when it was answered" : "none; it goes on when it is resumed";
}

function spentOf({ cost, usage, limits: { budget } }: RunReport): string {
  const spent = cost === null ? "an unknown amount" : dollars(cost);
  const tokens = grouped(usage.inputTokens + usage.outputTokens);
  const ofDollars = budget.usd === null ? "" : ` of ${dollars(budget.usd)}`;
  const ofTokens = budget.tokens === null ? "" : ` of ${grouped(budget.tokens)}`;
  return `${spent}${ofDollars}, ${tokens}${ofTokens} tokens`;
}

function callLine(
  { execId, kind, name, status, startedAt, key }: RecordedCall,
  { tree, heldBy, result }: RunReport,
  now: number,
): string {
  const agentId = tree.agents().find((agent) => agent.execId === execId)?.agentId ?? execId;
  const what =
    status === "waiting" ? `waits to ask ${name}` : kind === "llm" ? `asks ${name}` : `calls ${name}`;
  const isMade = heldBy !== undefined && result === undefined;
  const time = duration(now - startedAt);
  return oneLine(`${agentId} ${what} (${key}), ${isMade ? `for ${time}` : `begun ${time} ago`}`, 200);
}

function waitLine(wait: PendingWait, now: number, commands: readonly string[]): string {
  const { kind, agentId, since, until } = wait;
  const end = until === undefined ? "" : `, until ${dateOf(until)}`;
  const line = `${agentId} has waited ${duration(now - since)} for ${kindWords(kind)}${end}`;
  const question = questionOf(wait);
  return [oneLine(line, 200), ...(question === undefined ? [] : [question]), ...commands].join("\n    ");
}

function listed(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [title, ...lines.map((line) => `  ${line}`)].join("\n");
}
