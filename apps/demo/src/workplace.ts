import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { InvalidValueError, type Journal, type LLMClient } from "@ravi/kernel";
import type { OwnPrices } from "@ravi/resources";
import { SqliteJournal } from "@ravi/runtime";
import type { BillSummary } from "@ravi/testing";
import type { Args } from "./args.ts";
import { crashingJournal } from "./crash.ts";
import { realModel, standInModel } from "./models.ts";
import { STAND_IN_PRICES, startStandIn } from "./stand-in/server.ts";

/** What a run works with: a folder, the journal and the bill in it, and a model. */
export interface Workplace {
  readonly folder: string;
  readonly journal: Journal;
  readonly model: LLMClient;
  readonly prices: OwnPrices | undefined;
  /** How another process finds the same model. */
  readonly modelArgs: readonly string[];
  /** What the stand-in's server was owed so far, earlier processes included; null for a real model. */
  bill(): BillSummary | null;
  /** Closes everything. A folder that nobody asked for goes, unless there is something to go on with. */
  close(options: { readonly keep: boolean }): Promise<void>;
}

/** So that somebody can follow; what is piped is not slowed down. */
const PACE_MS = 250;

export async function openWorkplace(
  args: Args,
  options: { readonly isWatched: boolean; readonly preempted: Promise<void> },
): Promise<Workplace> {
  const folder =
    args.journal === undefined
      ? await mkdtemp(join(tmpdir(), "ravi-demo-"))
      : resolve(process.env["INIT_CWD"] ?? ".", args.journal);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unlock = lock(folder);
  const journal = SqliteJournal.open(folder);
  const server =
    args.model === undefined
      ? await startStandIn({
          // Not in the journal: it is what the journal is checked against.
          billFile: join(folder, "bill.jsonl"),
          paceMs: options.isWatched ? PACE_MS : 0,
          preempted: args.engine === "restate" ? options.preempted : undefined,
        })
      : undefined;
  return {
    folder,
    journal: args.crashAt === undefined ? journal : crashingJournal(journal, args.crashAt),
    model: server === undefined ? realModel(args.model ?? "", args.baseURL) : standInModel(server),
    prices: server === undefined ? undefined : { "openai:stand-in": STAND_IN_PRICES },
    modelArgs:
      server === undefined
        ? [
            `--model=${args.model ?? ""}`,
            ...(args.baseURL === undefined ? [] : [`--base-url=${args.baseURL}`]),
          ]
        : [`--stand-in=${server.url}`],
    bill: () => server?.bill() ?? null,
    async close({ keep }) {
      await server?.close();
      await journal.close();
      unlock();
      if (args.journal === undefined && !keep) await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * One demo at a time in a folder: two servers that wrote into one bill would spoil it. The lock is the system's, so a process
 * that is killed leaves none behind.
 */
function lock(folder: string): () => void {
  const database = new DatabaseSync(join(folder, "demo.lock"));
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database.close();
    const expected = "a folder in which no other demo is at work; wait for it to end, or give another one";
    throw new InvalidValueError({ field: "--journal", value: folder, expected, cause });
  }
  return () => database.close();
}

/** The newest run of a journal. */
export async function newestRun(journal: Journal, folder: string): Promise<string> {
  const runs = await journal.list();
  const newest = runs.toSorted((a, b) => b.startedAt - a.startedAt)[0];
  if (newest !== undefined) return newest.runId;
  throw new InvalidValueError({
    field: "--resume",
    value: folder,
    expected: "a journal with a run in it; nothing was written there yet, so start without --resume",
  });
}
