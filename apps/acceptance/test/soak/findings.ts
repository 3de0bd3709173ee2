import { type JournalRecord, type RunEvent, totalTokens } from "@ravi/kernel";
import type { RunReport } from "@ravi/runtime";
import type { Ended, Said } from "../../src/soak/program.ts";
import { DEPUTY_TOKENS } from "../../src/soak/team.ts";
import { type Billed, type Provider, treeOf } from "./provider.ts";

/** What is known of a tree that has ended. */
export interface Evidence {
  readonly report: RunReport;
  readonly events: readonly RunEvent[];
  readonly records: readonly JournalRecord[];
  readonly bill: ReadonlyMap<string, Billed>;
  readonly provider: Provider;
}

/** Compares what is on record of a tree with what its processes have said, and with the provider's bill. */
export class Findings {
  readonly all: string[] = [];
  /** Trees that somebody has cancelled. */
  readonly cancelled = new Set<string>();
  private readonly ended = new Map<string, Ended>();
  private readonly done = new Map<string, number>();
  private readonly allowed = new Map<string, number>();
  /** How often a tree was interrupted: by a kill, or by its journal. */
  private readonly breaks = new Map<string, number>();

  /** Trees of which somebody has decided that an agent fails. */
  private readonly given = new Set<string>();
  /** Trees whose claim could not be given back, because the journal was busy. */
  private readonly unreleased = new Set<string>();

  fault(text: string): void {
    this.all.push(text);
  }

  hear(said: Said): void {
    if ("did" in said) this.done.set(said.did, (this.done.get(said.did) ?? 0) + 1);
    if ("decided" in said && said.as === "retry")
      this.allowed.set(said.decided, (this.allowed.get(said.decided) ?? 0) + 1);
    if ("decided" in said && said.as === "fail") this.given.add(treeOf(said.decided));
    if ("ended" in said) this.ended.set(said.run, said.ended);
    if ("interrupted" in said) this.interrupt(said.run);
    if ("unreleased" in said) this.unreleased.add(said.unreleased);
    if ("fault" in said) this.fault(said.fault);
  }

  /** Whether its process has said how it ended. */
  knows(tree: string): boolean {
    return this.ended.has(tree);
  }

  interrupt(tree: string): void {
    this.breaks.set(tree, (this.breaks.get(tree) ?? 0) + 1);
  }

  /** A process that has said how a tree ended has given it back, unless it could not. */
  checkHeld({ runId, heldBy }: RunReport): void {
    if (heldBy !== undefined && !this.unreleased.has(runId))
      this.fault(`${runId} is held by ${heldBy.owner}`);
  }

  /** Checks a tree that has ended, and forgets it. */
  check({ report, events, records, bill, provider }: Evidence): void {
    this.checkRecords(records);
    this.checkEnd(report);
    this.checkEvents(report, events);
    this.checkBill(report, bill, { broken: provider.broken, retries: retriesIn(records) });
    this.checkTools(report.runId);
    for (const map of [this.done, this.allowed])
      for (const key of map.keys()) if (treeOf(key) === report.runId) map.delete(key);
    this.ended.delete(report.runId);
    this.breaks.delete(report.runId);
    this.unreleased.delete(report.runId);
    this.given.delete(report.runId);
    this.cancelled.delete(report.runId);
  }

  private checkEnd({ runId, result, status, usage, cost, inDoubt, waitingFor }: RunReport): void {
    const isAllowed = ["completed", "partial", "failed"].includes(status);
    if (result === undefined || !(isAllowed || (status === "cancelled" && this.cancelled.has(runId))))
      this.fault(`${runId} is ${status}`);
    if (status === "partial" && result?.stopReason === undefined)
      this.fault(`${runId} is partial without a reason`);
    const code = result?.error?.code;
    const isGiven = code === "NEEDS_DECISION" && this.given.has(runId);
    if (status === "failed" && code !== "PROVIDER_ERROR" && !isGiven)
      this.fault(`${runId} has failed: ${code} ${result?.error?.message}`);
    if (waitingFor !== undefined) this.fault(`${runId} has ended and waits: ${JSON.stringify(waitingFor)}`);
    const told = this.ended.get(runId);
    // It was killed after its end was on record, and before it could say so.
    if (told === undefined) return;
    if (told.held > 1 || told.open !== 0)
      this.fault(`${runId} has ended with ${told.held} seats and ${told.open} reservations`);
    const [said, recorded] = [
      { status: told.status, usage: told.usage, cost: told.cost, inDoubt: told.inDoubt },
      { status, usage, cost, inDoubt },
    ].map((each) => JSON.stringify(each));
    if (said !== recorded) this.fault(`${runId} was told as ${said}, and recorded as ${recorded}`);
  }

  /** What has an end on record is not begun again, unless nothing was sent. */
  private checkRecords(records: readonly JournalRecord[]): void {
    const ended = new Set<string>();
    for (const { exec, key, phase, body } of records) {
      const what = `${exec} ${key}`;
      // What a tool asks a model is asked again together with its tool.
      if (key.startsWith("spend:")) continue;
      if (phase === "begin" && ended.has(what)) this.fault(`${what} was begun again after its end`);
      if (phase === "end" && body["withdrawn"] !== true) ended.add(what);
    }
  }

  private checkEvents({ runId, agents }: RunReport, events: readonly RunEvent[]): void {
    const last = new Map<string, string>();
    for (const [at, { seq, execId, event }] of events.entries()) {
      if (seq !== at + 1) this.fault(`event ${seq} of ${runId} is number ${at + 1}`);
      const before = last.get(execId);
      // A model call that failed is an error too, after which the agent may go on.
      if (event.type === "started" ? before !== undefined : before === undefined || before === "completed")
        this.fault(`${event.type} of ${execId} after ${before ?? "nothing"}`);
      last.set(execId, event.type);
    }
    for (const [execId, type] of last)
      if (type !== "completed" && type !== "error") this.fault(`the last event of ${execId} is ${type}`);
    for (const { execId, status } of agents)
      if (status === "running" || status === "pending") this.fault(`${execId} is ${status} in the end`);
  }

  private checkBill(
    { runId, usage, cost, inDoubt, limits, calls, agents }: RunReport,
    bill: ReadonlyMap<string, Billed>,
    { broken, retries }: Pick<Provider, "broken"> & { readonly retries: ReadonlyMap<string, number> },
  ): void {
    const tokens = totalTokens(usage);
    if (Math.round((cost ?? Number.NaN) * 1e6) !== tokens)
      this.fault(`${runId}: ${cost} dollars for ${tokens} tokens`);
    if (inDoubt.length > 0 && !this.breaks.has(runId) && !this.cancelled.has(runId))
      this.fault(`${runId} was not interrupted, and doubts ${inDoubt.join()}`);
    const isDoubted = (key: string): boolean =>
      inDoubt.some((doubt) => key === doubt || key.startsWith(`${doubt}/`));
    let [charged, sure, isExact] = [0, 0, inDoubt.length === 0];
    for (const [key, { tokens: of, times }] of bill) {
      const whole = times - (broken.get(key) ?? 0);
      charged += of;
      if (isDoubted(key)) {
        const most = 1 + (this.breaks.get(runId) ?? 0);
        if (whole > most) this.fault(`${key} was paid ${times} times in ${most} lives`);
      } else {
        sure += of;
        // On a busy machine a client gives up before it is answered. It has that try on record.
        if (whole > 1 && times > 1 + (retries.get(key) ?? 0))
          this.fault(`${key} was paid ${times} times, and is not in doubt`);
      }
      isExact &&= !broken.has(key);
    }
    isExact &&= calls.every(({ status }) => status === "ok");
    if (isExact ? tokens !== charged : tokens < charged)
      this.fault(
        `${runId} has ${tokens} tokens on record, and ${charged} on its bill (doubts: ${inDoubt.join()})`,
      );
    const most = limits.executionBudget?.maxTokens ?? Infinity;
    if (sure > most) this.fault(`${runId} was billed ${sure} tokens of ${most}, without what is in doubt`);
    if (inDoubt.length > 0) return;
    if (tokens > most) this.fault(`${runId} has spent ${tokens} tokens of ${most}`);
    for (const { execId } of agents.filter((agent) => /hire:deputy#\d+$/.test(agent.execId))) {
      const team = agents.filter((agent) => agent.execId === execId || agent.execId.startsWith(`${execId}/`));
      const spent = team.reduce((sum, agent) => sum + totalTokens(agent.usage), 0);
      if (spent > DEPUTY_TOKENS) this.fault(`${execId} has spent ${spent} tokens of ${DEPUTY_TOKENS}`);
    }
  }

  private checkTools(runId: string): void {
    for (const [key, times] of this.done)
      if (treeOf(key) === runId && times > 1 + (this.allowed.get(key) ?? 0))
        this.fault(`${key} was done ${times} times, and nobody had decided that`);
  }
}

/** How often a model call was tried again by its own process, by key: each such try has a begin of its own. */
function retriesIn(records: readonly JournalRecord[]): ReadonlyMap<string, number> {
  const retries = new Map<string, number>();
  for (const { exec, key, phase } of records) {
    const call = /^spend:(llm:.*)#\d+$/.exec(key)?.[1];
    if (call === undefined || phase !== "begin") continue;
    retries.set(`${exec}:${call}`, (retries.get(`${exec}:${call}`) ?? 0) + 1);
  }
  return retries;
}
