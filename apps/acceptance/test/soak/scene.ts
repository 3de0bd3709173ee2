import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isRaviError, type RunStatus } from "@ravi/kernel";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { chance, faultOf, wholeOf } from "../../src/soak/chance.ts";
import type { Order, Planted, Said } from "../../src/soak/program.ts";
import { Findings } from "./findings.ts";
import { Provider } from "./provider.ts";

export interface SoakOptions {
  readonly seed: number;
  /** How many trees there are. */
  readonly trees: number;
  /** How many times the process is killed. After that nobody is, until all trees have ended. */
  readonly kills: number;
  /** How much happens before a kill, at least and at most: calls of the provider, and lines of the process. */
  readonly between: readonly [least: number, most: number];
  /** No tree begins after that, and nobody is killed. Epoch milliseconds. Default: never. */
  readonly until?: number | undefined;
  readonly planted?: Planted | undefined;
  readonly report?: ((text: string) => void) | undefined;
}

export interface Soaked {
  /** What was wrong. */
  readonly found: readonly string[];
  readonly trees: number;
  readonly kills: number;
  readonly calls: number;
  /** Ended trees by their status. */
  readonly ended: Readonly<Record<string, number>>;
  /** Pages of the journal that are in use: at first, and after each life, when what has ended is deleted. */
  readonly pages: readonly number[];
  /** Kilobytes of memory after so many trees, in each life. */
  readonly heaps: readonly (readonly { readonly after: number; readonly kilobytes: number }[])[];
}

/** `src/soak/program.ts`, bundled by scripts/bundle-programs.ts. */
const PROGRAM = join(import.meta.dirname, "../../dist/soak.js");
/** Without a sign of life for so long, a process hangs. */
const HANGS_MS = 60_000;
/** So many ended trees are checked, and deleted, while the process works. */
const SWEEP = 20;

/** Trees that live in one process after another. */
export async function soak(options: SoakOptions): Promise<Soaked> {
  const { seed, planted } = options;
  await using provider = await Provider.open({ seed, isGreedy: planted === "calls that are billed twice" });
  await using scene = new Scene(options, provider);
  return await scene.play();
}

class Scene implements AsyncDisposable {
  private readonly options: SoakOptions;
  private readonly provider: Provider;
  private readonly findings = new Findings();
  private readonly folder = mkdtempSync(join(tmpdir(), "ravi-soak-"));
  /** This process approves and looks on, from outside. */
  private readonly journal: SqliteJournal;
  private readonly runtime: Runtime;
  /** Keeps the journal busy. */
  private readonly other: DatabaseSync;
  private readonly open = new Set<number>();
  private next = 0;
  private lives = 0;
  private kills = 0;
  private happened = 0;
  private lastSign = Date.now();
  private process: ChildProcess | undefined;
  /** At which count of what has happened it is killed. */
  private killAt = Infinity;
  /** What this process writes, or keeps locked, one after the other. */
  private acts: Promise<void> = Promise.resolve();
  private unchecked = 0;
  private readonly ended: Record<string, number> = {};
  private readonly pages: number[] = [];
  private readonly heaps: { after: number; kilobytes: number }[][] = [];

  constructor(options: SoakOptions, provider: Provider) {
    this.options = options;
    this.provider = provider;
    this.journal = SqliteJournal.open(join(this.folder, "journal"));
    this.runtime = new Runtime({ journal: this.journal });
    this.other = new DatabaseSync(join(this.folder, "journal/ravi.db"), { timeout: 1_000 });
    this.countPages();
    const tick = (): void => this.tick();
    provider.onRequest = tick;
  }

  async play(): Promise<Soaked> {
    const { options, findings, provider } = this;
    for (;;) {
      const isOver = this.kills >= options.kills || Date.now() > (options.until ?? Infinity);
      await this.live(isOver);
      await this.settle();
      if (findings.all.length > 0 || (isOver && this.open.size > 0)) break;
      if (this.open.size === 0 && (isOver || this.next >= options.trees)) break;
    }
    if (findings.all.length === 0 && this.open.size > 0) findings.fault(`no end of ${[...this.open].join()}`);
    const { kills, next: trees, ended, pages, heaps } = this;
    return {
      found: [...findings.all, ...provider.faults],
      trees,
      kills,
      calls: provider.calls,
      ended,
      pages,
      heaps,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process?.exitCode === null && this.process.signalCode === null) {
      this.process.kill("SIGKILL");
      await once(this.process, "close");
    }
    await this.acts;
    this.other.close();
    await this.runtime.close();
    await this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async live(isLast: boolean): Promise<void> {
    const { seed, planted, between, trees } = this.options;
    const life = this.lives++;
    this.heaps.push([]);
    const order: Order = {
      url: this.provider.url,
      seed,
      life,
      open: [...this.open],
      next: this.next,
      trees: isLast && this.options.until !== undefined ? this.next : trees,
      planted,
    };
    // Then it is killed when it has done something.
    const isWaitedFor = planted === "a tool that is repeated" && life === 0;
    this.killAt = isLast || isWaitedFor ? Infinity : this.happened + wholeOf(...between, seed, life, "kill");
    const child = spawn(
      process.execPath,
      ["--no-warnings", "--expose-gc", PROGRAM, this.folder, JSON.stringify(order)],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.process = child;
    this.lastSign = Date.now();
    createInterface({ input: child.stdout }).on("line", (line) => this.hear(JSON.parse(line) as Said));
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const looks = setInterval(() => this.checkHang(), 1_000);
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    clearInterval(looks);
    if (stderr !== "" || (code !== 0 && signal === null))
      this.findings.fault(`a process ended with ${code}: ${stderr}`);
    if (!isLast) for (const tree of this.open) this.findings.interrupt(`t${tree}`);
    this.options.report?.(
      `life ${life}: ${signal ?? code}, ${this.next} trees begun, ${this.open.size} open, ${this.provider.calls} calls`,
    );
  }

  private checkHang(): void {
    if (Date.now() < this.lastSign + HANGS_MS) return;
    this.findings.fault(`a process hangs: ${JSON.stringify(this.journal.list())}`);
    this.process?.kill("SIGKILL");
  }

  private tick(): void {
    this.happened++;
    this.lastSign = Date.now();
    if (this.happened >= this.killAt) {
      this.killAt = Infinity;
      this.kills++;
      // Some are only told to stop.
      this.process?.kill(chance(this.options.seed, this.kills, "term") < 0.2 ? "SIGTERM" : "SIGKILL");
    }
    const { seed } = this.options;
    if (faultOf(["busy"], seed, this.happened) === undefined) return;
    // A process waits for 500 ms.
    const ms = chance(seed, this.happened, "long") < 0.1 ? 800 : wholeOf(1, 60, seed, this.happened, "ms");
    this.act(() => this.keepBusy(ms));
  }

  private hear(said: Said): void {
    this.findings.hear(said);
    if ("begins" in said) {
      this.open.add(said.begins);
      this.next = said.begins + 1;
    }
    if ("asks" in said) this.act(() => this.answer(said.of, said.asks));
    if ("heap" in said)
      this.heaps.at(-1)?.push({ after: said.after, kilobytes: Math.round(said.heap / 1024) });
    if ("did" in said && this.options.planted === "a tool that is repeated" && this.kills === 0)
      this.killAt = this.happened;
    if ("ended" in said && ++this.unchecked === SWEEP) this.act(() => this.check(true));
    this.tick();
  }

  private act(act: () => Promise<void>): void {
    this.acts = this.acts
      .then(act)
      .catch((error: unknown) => this.findings.fault(`from outside: ${String(error)}`));
  }

  /** Another program that writes to the file. */
  private async keepBusy(ms: number): Promise<void> {
    this.other.exec("BEGIN IMMEDIATE");
    await sleep(ms);
    this.other.exec("ROLLBACK");
  }

  /** Whoever is asked again says the same, and it counts once. Some end the whole run instead. */
  private async answer(runId: string, name: string): Promise<void> {
    const { seed } = this.options;
    try {
      if (faultOf(["cancels"], seed, name, "answer") === undefined)
        await this.runtime.deliver(runId, name, chance(seed, name) < 0.9, { id: name });
      else {
        this.findings.cancelled.add(runId);
        await this.runtime.cancel(runId, "planted");
      }
    } catch (error) {
      // It has ended.
      if (!isRaviError(error, "INVALID_VALUE")) throw error;
    }
  }

  /** Between two lives: what has ended is checked and deleted, and what waits is answered. */
  private async settle(): Promise<void> {
    this.act(() => this.check(false));
    for (const { runId, waitingFor = [] } of this.journal.list())
      for (const { kind, name } of waitingFor)
        if (kind === "approval") this.act(() => this.answer(runId, name));
    await this.acts;
    this.countPages();
  }

  private countPages(): void {
    const { page_count: all } = this.other.prepare("PRAGMA page_count").get() as { page_count: number };
    const { freelist_count: free } = this.other.prepare("PRAGMA freelist_count").get() as {
      freelist_count: number;
    };
    this.pages.push(all - free);
  }

  private async check(isAlive: boolean): Promise<void> {
    this.unchecked = 0;
    const { runtime, provider, findings } = this;
    const bill = provider.billed();
    for (const { runId, status } of this.journal.list()) {
      if (!isEnded(status)) continue;
      const tree = Number(runId.slice(1));
      // It is not known yet that it has ended: the process is about to say so.
      if (isAlive && !findings.knows(runId)) continue;
      const report = await runtime.inspect(runId);
      if (isAlive) findings.checkHeld(report);
      // It is looked at again when the process is dead.
      if (isAlive && report.heldBy !== undefined) continue;
      findings.check({
        report,
        events: await runtime.recordedEvents(runId),
        records: await this.journal.load(report.runId),
        bill: bill.get(runId) ?? new Map(),
        provider,
      });
      this.open.delete(tree);
      this.ended[status] = (this.ended[status] ?? 0) + 1;
      provider.forget(runId);
      if (isAlive) await runtime.delete(runId);
    }
    if (isAlive) return;
    await runtime.prune({ olderThanMs: 0 });
    for (const { runId, status } of this.journal.list())
      if (isEnded(status)) findings.fault(`${runId} is ${status} and was not deleted`);
  }
}

function isEnded(status: RunStatus): boolean {
  return status !== "running" && status !== "pending" && status !== "suspended";
}
