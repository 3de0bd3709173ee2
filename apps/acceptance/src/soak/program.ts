import { writeSync } from "node:fs";
import { join } from "node:path";
import { SlidingWindow } from "@ravi/context";
import { HookManager } from "@ravi/hooks";
import { isRaviError, type Journal, type RootHandle, RunId, type RunResult } from "@ravi/kernel";
import { MiddlewarePipeline, retry } from "@ravi/middleware";
import { openai } from "@ravi/provider-openai";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { type Decision, Runtime, SqliteJournal } from "@ravi/runtime";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";
import { chance, faultOf, wholeOf } from "./chance.ts";
import { teamOf } from "./team.ts";

// A service that works on eight trees at once, and begins another when one has ended. It says on standard output what they do and how
// they end. When it is killed, the next one gets the trees that had not ended. SIGTERM suspends them.

/** How a broken service would differ. */
export type Planted =
  | "a record that is forgotten"
  | "a tool that is repeated"
  | "a reservation that is kept"
  /** By the provider. */
  | "calls that are billed twice";

export interface Order {
  readonly url: string;
  readonly seed: number;
  /** The number of this process. */
  readonly life: number;
  /** Numbers of trees that were begun and have not ended. */
  readonly open: readonly number[];
  /** The number of the first tree that was not begun. */
  readonly next: number;
  /** How many trees there are in all. */
  readonly trees: number;
  readonly planted?: Planted | undefined;
}

export interface Ended extends Pick<RunResult, "status" | "output" | "usage" | "cost"> {
  readonly inDoubt: readonly string[];
  /** Seats that are held and reservations that are open, after the end. */
  readonly held: number;
  readonly open: number;
}

/** A line that it says. */
export type Said =
  | { readonly begins: number }
  | { readonly did: string }
  | { readonly asks: string; readonly of: string }
  | { readonly decided: string; readonly as: Decision }
  | { readonly run: string; readonly ended: Ended }
  /** Its journal was busy for too long. It is resumed. */
  | { readonly run: string; readonly interrupted: string }
  /** Its claim could not be given back, because the journal was busy. */
  | { readonly unreleased: string }
  | { readonly heap: number; readonly after: number }
  | { readonly fault: string };

const AT_ONCE = 8;
/** After so many it is said how much memory is used. */
const SAMPLE_TREES = 10;

/** At once and unbuffered, so that it is heard after a kill. */
function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

const [folder = "", given = "{}"] = process.argv.slice(2);
const order = JSON.parse(given) as Order;
const { url, seed, life, trees, planted } = order;

const store = SqliteJournal.open(join(folder, "journal"), { busyTimeoutMs: 500 });
const journal: Journal =
  planted === "a record that is forgotten"
    ? Object.assign(Object.create(store) as SqliteJournal, {
        async load(...[runId]: Parameters<SqliteJournal["load"]>) {
          const records = await store.load(runId);
          return records.filter(({ key, phase }) => !(phase === "end" && key.startsWith("llm:")));
        },
      })
    : store;

const hooks = new HookManager({
  timeoutMs: 50,
  onError({ kind, message }) {
    if (!message.includes("planted") && kind !== "hung") say({ fault: `a hook: ${message}` });
  },
});
let dispatches = 0;
hooks.onAny((event, payload) => {
  if (event === "approval_requested" && "name" in payload) say({ asks: payload.name, of: payload.runId });
  const fault = faultOf(["throws", "rejects", "hangs"] as const, seed, life, event, dispatches++);
  if (fault === "throws") throw new Error("planted: a hook throws");
  if (fault === "rejects") return Promise.reject(new Error("planted: a hook rejects"));
  return fault === "hangs" ? new Promise(() => {}) : undefined;
});

const waits = { maxRetries: 3, baseMs: 5, random: () => 0.5 };
const ledgers = new Map<string, ExecutionTracker>();
const headcounts = new Map<string, SpawnTracker>();
const lead = teamOf({
  model: openai("small", { baseURL: url, apiKey: "sk-loopback", maxOutputTokens: 200, idleTimeoutMs: 3_000 }),
  seed,
  life,
  repeatsTools: planted === "a tool that is repeated",
  did: (did) => say({ did }),
  afterEffect: async () => {
    // It is killed there, for certain.
    if (planted === "a tool that is repeated" && life === 0)
      await new Promise(() => setTimeout(() => {}, 2 ** 30));
  },
});
const runtime = new Runtime({
  journal,
  agents: [lead],
  hooks,
  headcount(root) {
    const headcount = new SpawnTracker(root.spawnBudget, { rootId: root.rootId });
    headcounts.set(root.runId, headcount);
    return headcount;
  },
  ledger(root) {
    const ledger = new ExecutionTracker(root.executionBudget, { scope: root.rootId });
    if (planted === "a reservation that is kept") ledger.reserve({ tokens: 1 });
    ledgers.set(root.runId, ledger);
    return ledger;
  },
  meter: new ModelMeter({ prices: { small: { input: 1, output: 1 } } }),
  pipelines: { chat: new MiddlewarePipeline([retry(waits)]) },
  compaction: new SlidingWindow({ messages: 8 }),
  restart: new RetryPolicy(waits),
  logger: {
    debug() {},
    info() {},
    warn() {},
    error(message, data) {
      const text = `${message} ${JSON.stringify(data)}`;
      const unreleased = /^could not release the claim on run (\S+);.*was locked by another process/.exec(
        text,
      )?.[1];
      if (unreleased !== undefined) say({ unreleased });
      else if (!text.includes("planted")) say({ fault: `logged: ${text}` });
    },
  },
});

/** Every fifth tree has little money, and headcounts are small, so that some are cut off and some are denied. */
function limitsOf(tree: number) {
  return {
    spawnBudget: { maxAgents: wholeOf(2, 5, seed, tree, "agents") },
    executionBudget: { maxTokens: tree % 5 === 4 ? wholeOf(1_500, 6_000, seed, tree, "tokens") : 1_000_000 },
  };
}

function onEventOf(tree: number): (() => void) | undefined {
  let events = 0;
  // Models are streamed if somebody watches.
  if (tree % 2 === 0) return undefined;
  return () => {
    if (faultOf(["throws"], seed, life, tree, "event", events++) !== undefined)
      throw new Error("planted: a watcher throws");
  };
}

function start(tree: number, isRecorded: boolean, decisions: Readonly<Record<string, Decision>>): RootHandle {
  const runId = `t${tree}`;
  const onEvent = onEventOf(tree);
  if (isRecorded) return runtime.resume(runId, { decisions, onEvent });
  return runtime.run(lead, `tree ${tree}`, { runId, onEvent, ...limitsOf(tree) });
}

const closing = new AbortController();

/** Until it has ended. Somebody decides on what is in doubt. */
async function grow(tree: number): Promise<void> {
  const run = `t${tree}`;
  let decisions: Record<string, Decision> = {};
  for (let tries = 1; !closing.signal.aborted; tries++) {
    try {
      const isRecorded = ((await store.summary(RunId(run)))?.status ?? "pending") !== "pending";
      if (closing.signal.aborted) return;
      const result = await start(tree, isRecorded, decisions).result;
      if (result.status !== "suspended") return tellEnd(run, result);
      if (isRaviError(result.error, "SUSPENDED") && closing.signal.aborted) return;
      if (!isRaviError(result.error, "NEEDS_DECISION")) throw result.error ?? new Error("suspended");
      decisions = {};
      for (const key of result.error.pending) {
        const all = ["retry", "skip", "fail"] as const;
        const decision = all[Math.floor(chance(seed, key, life) * all.length)] ?? "fail";
        say({ decided: key, as: decision });
        decisions[key] = decision;
      }
    } catch (error) {
      if (tries === 50 || !isRaviError(error, "JOURNAL_FAILED") || !error.retryable) {
        say({ fault: `${run} was rejected: ${String(error)}` });
        return;
      }
      say({ run, interrupted: error.message });
    }
  }
}

let ends = 0;
function tellEnd(run: string, { status, output, usage, cost, inDoubt = [] }: RunResult): void {
  const [held, open] = [headcounts.get(run)?.held ?? 0, ledgers.get(run)?.open ?? 0];
  headcounts.delete(run);
  ledgers.delete(run);
  say({ run, ended: { status, output, usage, cost, inDoubt, held, open } });
  if (++ends % SAMPLE_TREES === 0 && globalThis.gc !== undefined) {
    globalThis.gc();
    say({ heap: process.memoryUsage().heapUsed, after: ends });
  }
}

process.on("SIGTERM", () => {
  closing.abort();
  void runtime.close();
});

let { next } = order;
const open = [...order.open];
async function lane(): Promise<void> {
  while (!closing.signal.aborted) {
    const tree = open.shift() ?? (next < trees ? next++ : undefined);
    if (tree === undefined) return;
    if (tree >= order.next) say({ begins: tree });
    await grow(tree);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, lane));
await runtime.close();
await store.close();
