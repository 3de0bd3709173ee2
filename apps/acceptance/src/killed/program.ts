import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { FileHistory } from "@ravi/context";
import { isRaviError, type RootHandle, type RunEvent, type RunResult } from "@ravi/kernel";
import { MiddlewarePipeline, retry } from "@ravi/middleware";
import { openai } from "@ravi/provider-openai";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";
import type { RunWork } from "./work.ts";
import { type Book, worker } from "./worker.ts";

// A service that is killed: starts its runs, or resumes those that are on record, and says on standard output what they do and how they
// end. SIGTERM suspends them.

/** How a broken service would differ. */
export type Planted = "a forgotten end" | "a tool that is repeated";

export interface Order {
  readonly url: string;
  readonly decisions: Readonly<Record<string, Readonly<Record<string, "retry" | "skip" | "fail">>>>;
  readonly planted?: Planted | undefined;
}

export interface Ended extends Pick<RunResult, "status" | "output" | "usage" | "cost"> {
  readonly inDoubt: readonly string[];
  /** Calls that somebody has to decide on. */
  readonly pending: readonly string[];
  readonly error: string | undefined;
}

/** A line that it says. */
export type Said =
  | { readonly ready: true }
  | { readonly saw: string; readonly at: number; readonly text: string }
  | { readonly did: string; readonly isIdempotent: boolean }
  | { readonly receives: string }
  | { readonly run: string; readonly ended: Ended }
  | { readonly run: string; readonly rejected: string; readonly message: string }
  | { readonly fault: string };

/** At once and unbuffered, so that it is heard after a kill. */
function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

const [folder = "", given = "{}"] = process.argv.slice(2);
const { url, decisions, planted } = JSON.parse(given) as Order;
const works = JSON.parse(readFileSync(join(folder, "work.json"), "utf8")) as readonly RunWork[];
const book: Book = {
  model: openai("small", { baseURL: url, apiKey: "sk-loopback", maxOutputTokens: 200 }),
  repeatsTools: planted === "a tool that is repeated",
  saw: (saw, at, text) => say({ saw, at, text }),
  did: (did, isIdempotent) => say({ did, isIdempotent }),
  receives: (receives) => say({ receives }),
};
const store = SqliteJournal.open(join(folder, "journal"));
const journal: SqliteJournal =
  planted === "a forgotten end"
    ? Object.assign(Object.create(store) as SqliteJournal, {
        append: (...[runId, epoch, entries]: Parameters<SqliteJournal["append"]>) =>
          store.append(
            runId,
            epoch,
            entries.filter(({ key, phase }) => !(phase === "end" && key.startsWith("tool:"))),
          ),
      })
    : store;
const history = await FileHistory.open(join(folder, "sessions"));
const waits = { maxRetries: 3, baseMs: 5, random: () => 0.5 };
const teams = works.map((work) => ({ ...work, agent: worker(book, `root-${work.runId}`, work.steps) }));
const runtime = new Runtime({
  journal,
  history,
  agents: teams.map(({ agent }) => agent),
  headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
  meter: new ModelMeter({ prices: { small: { input: 1, output: 1 } } }),
  pipelines: { chat: new MiddlewarePipeline([retry(waits)]) },
  restart: new RetryPolicy(waits),
  logger: {
    debug() {},
    info() {},
    warn() {},
    error: (message, data) => say({ fault: `logged: ${message} ${JSON.stringify(data)}` }),
  },
});
/** Events are numbered without gaps, and each agent starts once and ends once, last. */
function watch(): (event: RunEvent) => void {
  let last = 0;
  const states = new Map<string, "started" | "ended">();
  return ({ seq, execId, event: { type } }) => {
    if (seq !== ++last) say({ fault: `event ${seq} of ${execId} after ${last - 1}` });
    const state = states.get(execId);
    if (type === "started" ? state !== undefined : state !== "started")
      say({ fault: `${type} of ${execId}, which has ${state ?? "not started"}` });
    if (type === "started") states.set(execId, "started");
    if (type === "completed" || type === "error") states.set(execId, "ended");
  };
}

function start({ runId, agent, maxAgents, maxTokens }: (typeof teams)[number]): RootHandle {
  const onEvent = watch();
  if (recorded.has(runId)) return runtime.resume(runId, { decisions: decisions[runId] ?? {}, onEvent });
  const [spawnBudget, executionBudget] = [{ maxAgents }, { maxTokens }];
  const sessionId = `session of ${runId}`;
  return runtime.run(agent, "go", { runId, sessionId, onEvent, spawnBudget, executionBudget });
}

async function tellEnd({ runId: run, result }: RootHandle): Promise<void> {
  try {
    const { status, output, usage, cost, inDoubt = [], error } = await result;
    const pending = isRaviError(error, "NEEDS_DECISION") ? error.pending : [];
    say({ run, ended: { status, output, usage, cost, inDoubt, pending, error: error?.message } });
  } catch (error) {
    const rejected = isRaviError(error) ? error.code : "another error";
    say({ run, rejected, message: String(error) });
  }
}

const recorded = new Set<string>();
for (const { runId, status } of store.list()) if (status !== "pending") recorded.add(runId);
const ends = teams.map(start).map(tellEnd);
process.on("SIGTERM", () => void runtime.close());
say({ ready: true });
await Promise.all(ends);
await runtime.close();
await history.close();
await store.close();
