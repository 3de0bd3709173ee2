import { Runtime } from "@ravi/runtime";
import { type RunStatus, type RunSummary, runs } from "@ravi/sdk";
import { UsageError } from "./errors.ts";
import { lookingAt } from "./open.ts";
import type { Request } from "./perform.ts";
import { json, oneLine } from "./printable.ts";
import { table } from "./table.ts";
import { duration } from "./time.ts";
import { shortly } from "./waits.ts";

const STATUSES = ["pending", "running", "suspended", "completed", "partial", "failed", "cancelled"] as const;
const OPEN: readonly RunStatus[] = ["pending", "running", "suspended"];

/** Whether it has not ended. */
export function isOpen(status: RunStatus): boolean {
  return OPEN.includes(status);
}

/** The runs as a table, the newest first. */
export async function listRuns({ journal, options, now }: Request): Promise<string> {
  const all = (await runs({ journal })).toSorted((one, other) => other.startedAt - one.startedAt);
  const wanted = statusesOf(options.all === true, options.status);
  // A damaged status is none of them.
  const shown = wanted === STATUSES ? all : all.filter(({ status }) => wanted.includes(status));
  if (options.json === true) return json(shown);
  const rest = all.length - shown.length;
  const more = rest === 0 ? [] : [`${rest} not shown${options.status === undefined ? ": --all" : ""}`];
  if (shown.length === 0) {
    const kind = options.all === true ? "" : `${options.status ?? "open"} `;
    return [`no ${kind}runs in ${journal}`, ...more].join("; ");
  }
  const left = await leftAlone(journal, shown);
  const rows = shown.map((run) => rowOf(run, left.has(run.runId), now));
  return [table([["run", "agent", "status", "started", "last entry", ""], ...rows]), ...more].join("\n");
}

/** Those that say that they run, and that no process has: it was killed. */
async function leftAlone(journal: string, shown: readonly RunSummary[]): Promise<ReadonlySet<string>> {
  const left = new Set<string>();
  await lookingAt(journal, async (open) => {
    const runtime = new Runtime({ journal: open });
    for (const { runId, status } of shown) {
      if (status !== "running" || (await runtime.holder(runId)) !== undefined) continue;
      // It may have ended since it was listed.
      if ((await open.summary(runId))?.status === "running") left.add(runId);
    }
  });
  return left;
}

function rowOf(
  { runId, agent, status, startedAt, updatedAt, waitingFor, error, cancelReason }: RunSummary,
  isLeft: boolean,
  now: number,
): string[] {
  const waits = (waitingFor ?? []).map((wait) => `${wait.agentId} waits for ${shortly(wait)}`);
  const why = error === undefined || error.code === "SUSPENDED" ? [] : [errorWords(error)];
  const cancelled =
    cancelReason === undefined ? [] : [cancelWords(cancelReason, status === "running" && !isLeft)];
  const left = isLeft && cancelReason === undefined ? ["no process has it; resume it"] : [];
  const ago = (at: number): string => `${duration(now - at)} ago`;
  return [
    runId,
    agent,
    status,
    ago(startedAt),
    ago(updatedAt),
    oneLine([...cancelled, ...why, ...left, ...waits].join("; "), 200),
  ];
}

function errorWords({ code, message }: NonNullable<RunSummary["error"]>): string {
  return code === null ? message : `${code}: ${message}`;
}

/** What is to be said of a run that was cancelled and has not ended yet. */
export function cancelWords(reason: string, isHeld: boolean): string {
  const why = reason === "" ? "" : ` (${oneLine(reason)})`;
  return `cancelled${why}: ${isHeld ? "its process ends it" : "it ends when it is resumed"}`;
}

function statusesOf(all: boolean, given: string | undefined): readonly RunStatus[] {
  if (given === undefined) return all ? STATUSES : OPEN;
  if (all) throw new UsageError("--all and --status exclude each other");
  const names = given.split(",");
  const wrong = names.find((name) => !STATUSES.some((status) => status === name));
  if (wrong === undefined) return STATUSES.filter((status) => names.includes(status));
  throw new UsageError(`--status is ${JSON.stringify(wrong)}; expected ${STATUSES.join(", ")}`);
}
