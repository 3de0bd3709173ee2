import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { FileHistory } from "@ravi/context";
import { isRaviError, type JsonValue } from "@ravi/kernel";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import type { Order, Planted, Said } from "../../../src/killed/program.ts";
import type { RunWork } from "../../../src/killed/work.ts";
import { Findings } from "./findings.ts";
import { Life } from "./life.ts";
import { Provider } from "./provider.ts";
import { worksOf } from "./works.ts";

export interface SceneOptions {
  readonly seed: number;
  readonly runs: number;
  /** How many times processes are killed. After that nobody is, until all runs are over. */
  readonly kills: number;
  /** Whether some are stopped until their claims have lapsed, which takes half a minute each. */
  readonly hasZombies?: boolean | undefined;
  readonly planted?: Planted | undefined;
}

/** After the kills, so many processes are enough to come to an end. */
const MORE_LIVES = 25;
/** Without a sign of life for so long, a process hangs. */
const HANGS_MS = 60_000;
const CLAIM_MS = 31_000;

/** Runs that live in one process after another. Gives what was wrong. */
export async function play(options: SceneOptions): Promise<readonly string[]> {
  await using provider = await Provider.open();
  await using scene = new Scene(options, provider);
  return await scene.play();
}

class Scene implements AsyncDisposable {
  private readonly options: SceneOptions;
  private readonly provider: Provider;
  private readonly folder = mkdtempSync(join(tmpdir(), "ravi-killed-"));
  private readonly works: readonly RunWork[];
  private readonly findings: Findings;
  /** This process answers, sends and cancels, from outside. */
  private readonly journal: SqliteJournal;
  private readonly runtime: Runtime;
  private readonly random: () => number;
  private readonly lives: Life[] = [];
  private readonly receiving = new Set<string>();
  private decisions: Record<string, Record<string, "retry" | "skip" | "fail">> = {};
  private posts = 0;
  /** How much has happened: requests, and what the processes have said. */
  private happened = 0;
  private lastSign = Date.now();

  constructor(options: SceneOptions, provider: Provider) {
    this.options = options;
    this.provider = provider;
    this.random = randomOf(options.seed);
    this.works = worksOf(options.seed, options.runs);
    this.findings = new Findings(this.works);
    writeFileSync(join(this.folder, "work.json"), JSON.stringify(this.works));
    this.journal = SqliteJournal.open(join(this.folder, "journal"));
    this.runtime = new Runtime({ journal: this.journal });
    const tick = (): void => this.tick();
    provider.onRequest = tick;
  }

  async play(): Promise<readonly string[]> {
    const { findings, options } = this;
    for (let n = 0; n < options.kills && findings.isOpen; n++) await this.live();
    for (let n = 0; n < MORE_LIVES && findings.isOpen; n++) await this.liveToEnd();
    // What is over says the same again.
    await this.liveToEnd();
    await using history = await FileHistory.open(join(this.folder, "sessions"));
    return await findings.all(this.provider, history);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const life of this.lives) life.signal("SIGKILL");
    await Promise.all(this.lives.map(({ ended }) => ended));
    await this.runtime.close();
    await this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async live(): Promise<void> {
    const ways = ["kill", "kill", "kill", "term", "two"] as const;
    const way = this.options.hasZombies === true && this.random() < 0.2 ? "zombie" : this.pick(ways);
    const life = this.start(this.random() < 0.2 ? this.almostFull() : undefined);
    await this.letWork(life, 60);
    if (way === "term") {
      life.signal("SIGTERM");
      await this.letWork(life, 5);
    }
    if (way === "two") {
      const other = this.start();
      await this.letWork(other, 40);
      await this.kill(this.pick([life, other]));
      await this.letWork(other, 30);
      await this.kill(other);
    }
    if (way === "zombie") {
      this.findings.hasZombie = true;
      await this.stop(life);
      await sleep(CLAIM_MS);
      const other = this.start();
      await this.letWork(other, 40);
      life.signal("SIGCONT");
      await this.letWork(other, 40);
      await this.kill(other);
      await this.letWork(life, 10);
    }
    await this.kill(life);
  }

  /** A process that nobody kills, and that gets an answer to everything. */
  private async liveToEnd(): Promise<void> {
    const life = this.start();
    while (!life.isEnded && Date.now() < this.lastSign + HANGS_MS) {
      await Promise.race([life.ended, sleep(20)]);
      if (!life.isEnded) await this.answer();
    }
    if (life.isEnded) return this.finish(life);
    this.findings.fault(`a process hangs: ${JSON.stringify(this.journal.list())}`);
    await this.kill(life);
  }

  /** The size of its largest file, and some more. */
  private almostFull(): number {
    const sizes = ["ravi.db", "ravi.db-wal"].map((name) => statSync(join(this.folder, "journal", name)).size);
    return Math.max(...sizes) + this.random() * 100_000;
  }

  private start(maxFile?: number): Life {
    const { decisions } = this;
    this.decisions = {};
    const order: Order = { url: this.provider.url, decisions, planted: this.options.planted };
    const hear = (said: Said, from: Life): void => this.hear(said, from);
    const life = new Life(this.folder, order, { maxFile, hear });
    this.lives.push(life);
    this.tick();
    return life;
  }

  /** Until something random has happened, and a moment longer. Meanwhile its runs are talked to. */
  private async letWork(life: Life, most: number): Promise<void> {
    const until = this.happened + Math.floor(this.random() * most);
    const isDone = (): boolean => life.isEnded || (life.isReady && this.happened >= until);
    while (!isDone() && Date.now() < this.lastSign + 5_000) {
      await Promise.race([life.ended, sleep(this.random() * 10)]);
      if (this.random() < 0.1) await this.answer();
      if (this.random() < 0.002) await this.cancel();
    }
    await sleep(this.random() * 20);
  }

  private async kill(life: Life): Promise<void> {
    life.signal("SIGKILL");
    await this.finish(life);
  }

  private async finish(life: Life): Promise<void> {
    const { code, signal, stderr } = await life.ended;
    if (life.isCramped && /can be opened and written \(SQLite: .*(full|disk)/.test(stderr)) return;
    // SIGTERM ends a process that is not ready yet.
    if (stderr !== "" || (code !== 0 && signal === null))
      this.findings.fault(`a process ended with ${code}: ${stderr}`);
  }

  /** Stops a process, but not in the middle of a write: it would keep the file locked, and everybody else would wait. */
  private async stop(life: Life): Promise<void> {
    using db = new DatabaseSync(join(this.folder, "journal/ravi.db"), { timeout: 0 });
    for (let isLocked = true; isLocked && !life.isEnded;) {
      life.signal("SIGSTOP");
      await sleep(50);
      try {
        db.exec("BEGIN IMMEDIATE; ROLLBACK");
        isLocked = false;
      } catch {
        life.signal("SIGCONT");
        await sleep(this.random() * 10);
      }
    }
  }

  private async answer(): Promise<void> {
    for (const { runId, waitingFor = [] } of this.journal.list()) {
      for (const { kind, name } of waitingFor) {
        if (kind === "timer" || kind === "decision") continue;
        const answer: JsonValue = kind === "signal" ? this.posts : this.random() < 0.7;
        await this.post((id) => this.runtime.deliver(runId, name, answer, { id }));
      }
    }
    for (const to of this.receiving)
      await this.post((id) => this.runtime.send(to.split("/")[0] ?? "", this.posts, { to, id }));
    this.receiving.clear();
  }

  private async cancel(): Promise<void> {
    const { runId } = this.pick(this.works);
    this.findings.cancelled.add(runId);
    await this.post(() => this.runtime.cancel(runId, "from outside"));
  }

  private async post(act: (id: string) => Promise<void>): Promise<void> {
    try {
      await act(`${this.posts++}`);
    } catch (error) {
      // The run may not have begun yet, or have ended.
      if (!isRaviError(error, "INVALID_VALUE")) this.findings.fault(`a post failed: ${String(error)}`);
    }
  }

  private hear(said: Said, { isCramped }: Life): void {
    this.tick();
    this.findings.hear(said, isCramped);
    if ("receives" in said) this.receiving.add(said.receives);
    if (!("ended" in said)) return;
    for (const key of said.ended.pending) {
      const decision = this.pick(["retry", "skip", "fail"] as const);
      if (decision === "retry") this.findings.allowOnceMore(key);
      (this.decisions[said.run] ??= {})[key] = decision;
    }
  }

  private tick(): void {
    this.happened++;
    this.lastSign = Date.now();
  }

  private pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)] as T;
  }
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
