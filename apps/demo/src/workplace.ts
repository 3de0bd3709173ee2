import * as fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { InvalidValueError, type Journal, type LLMClient } from "@ravi/kernel";
import { makeFolders } from "@ravi/kernel/loop";
import type { OwnPrices } from "@ravi/resources";
import { SqliteJournal } from "@ravi/runtime";
import type { BillSummary, LoopbackServer } from "@ravi/testing";
import type { Args } from "./args.ts";
import { crashingJournal } from "./crash.ts";
import { resumeLine } from "./resume-line.ts";
import { type Limit, limitFor } from "./limit.ts";
import { pricesOf, realModel, standInModel } from "./models.ts";
import { STAND_IN_PRICES, startStandIn } from "./stand-in/server.ts";

/** What a run needs: a folder with the journal and the bill, and a model. */
export interface Workplace {
  readonly folder: string;
  readonly journal: Journal;
  readonly model: LLMClient;
  readonly prices: OwnPrices | undefined;
  readonly limit: Limit;
  /** Arguments with which another process uses the same model. */
  readonly modelArgs: readonly string[];
  /** The stand-in server's bill, earlier processes included; null for a real model. */
  bill(): BillSummary | null;
  /** Closes everything. A temporary folder is removed unless `keep` is set. */
  close(options: { readonly keep: boolean }): Promise<void>;
}

/** Slows the stand-in down so that a person can follow. Piped output is not slowed down. */
const PACE_MS = 250;

/** Opens the folder, its lock, the journal and the model. Throws if an option is wrong or the folder cannot be used. */
export async function openWorkplace(
  args: Args,
  options: { readonly isPaced: boolean; readonly preempted: Promise<void> },
): Promise<Workplace> {
  // Wrong options are reported before anything is created.
  const real = args.model === undefined ? undefined : await realModelOf(args.model, args);
  const folder = await openFolder(args);
  let unlock: (() => void) | undefined;
  let journal: SqliteJournal | undefined;
  let server: LoopbackServer | undefined;
  const close = async ({ keep }: { readonly keep: boolean }): Promise<void> => {
    await server?.close();
    await journal?.close();
    unlock?.();
    if (args.journal === undefined && !keep) await rm(folder, { recursive: true, force: true });
  };
  try {
    unlock = lock(folder);
    journal = SqliteJournal.open(folder);
    let parts = real;
    if (parts === undefined) {
      server = await startStandIn({
        // Kept apart from the journal, because the journal is checked against it.
        billFile: path.join(folder, "bill.jsonl"),
        paceMs: options.isPaced ? PACE_MS : 0,
        preempted: args.engine === "restate" ? options.preempted : undefined,
      });
      parts = await standInOf(server, args);
    }
    return {
      folder,
      journal:
        args.crashAt === undefined
          ? journal
          : crashingJournal(journal, args.crashAt, resumeLine(args, folder)),
      ...parts,
      bill: () => server?.bill() ?? null,
      close,
    };
  } catch (error) {
    await close({ keep: false });
    throw error;
  }
}

type ModelParts = Pick<Workplace, "model" | "prices" | "limit" | "modelArgs">;

async function realModelOf(name: string, args: Args): Promise<ModelParts> {
  const { baseURL, price } = args;
  const model = await realModel(name, baseURL);
  const prices = pricesOf(name, price);
  const modelArgs = [
    `--model=${name}`,
    ...(baseURL === undefined ? [] : [`--base-url=${baseURL}`]),
    ...(price === undefined ? [] : [`--price=${price}`]),
  ];
  return { model, prices, limit: await limitFor(model, prices, args), modelArgs };
}

async function standInOf(server: LoopbackServer, args: Args): Promise<ModelParts> {
  const model = standInModel(server);
  const prices = { "openai:stand-in": STAND_IN_PRICES };
  const limit = await limitFor(model, prices, args);
  return { model, prices, limit, modelArgs: [`--stand-in=${server.url}`] };
}

/** Without `--journal` a new temporary folder. `--resume` needs a folder that already exists. */
async function openFolder({ journal, resume }: Args): Promise<string> {
  if (journal === undefined) return mkdtemp(path.join(tmpdir(), "ravi-demo-"));
  const folder = path.resolve(process.env["INIT_CWD"] ?? ".", journal);
  if (resume && !fs.existsSync(folder)) return nothingToResume(folder);
  try {
    makeFolders(folder, fs, path);
  } catch (cause) {
    notAFolder(folder, cause);
  }
  return folder;
}

/**
 * Allows one demo at a time in a folder, since two servers would spoil one bill. The lock belongs to the operating system, so a
 * killed process leaves none behind.
 */
function lock(folder: string): () => void {
  const database = openLock(folder);
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database.close();
    const expected =
      "a folder that no other demo is using; wait until that one ends, or choose another folder";
    throw new InvalidValueError({ field: "--journal", value: folder, expected, cause });
  }
  return () => database.close();
}

function openLock(folder: string): DatabaseSync {
  try {
    return new DatabaseSync(path.join(folder, "demo.lock"));
  } catch (cause) {
    return notAFolder(folder, cause);
  }
}

function notAFolder(folder: string, cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  const expected = `a folder that exists or can be created, and that this process can write to (${why})`;
  throw new InvalidValueError({ field: "--journal", value: folder, expected, cause });
}

function nothingToResume(folder: string): never {
  throw new InvalidValueError({
    field: "--resume",
    value: folder,
    expected: "a journal that has a run; this one is empty, so start without --resume",
  });
}

/** The id of the newest run in the journal. Throws if there is none. */
export async function newestRun(journal: Journal, folder: string): Promise<string> {
  const runs = await journal.list();
  const newest = runs.toSorted((a, b) => b.startedAt - a.startedAt)[0];
  return newest === undefined ? nothingToResume(folder) : newest.runId;
}
