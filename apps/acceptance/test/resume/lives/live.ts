import {
  type AgentAccount,
  isRaviError,
  type JsonValue,
  type RootHandle,
  type RunResult,
  totalTokens,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agentOf } from "./actor.ts";
import { House, MOST, Outside, type Planted } from "./outside.ts";
import type { Deed, Plan } from "./plan.ts";
import { journalOf, leftOf, Office, RUN } from "./process.ts";

/** After what was planned, so many processes are enough to come to an end. */
const MORE_LIVES = 6;
const GIVE_UP = 150;

/** One run from its start to its end, through all processes that it lives in. Gives what was wrong. */
export async function live(plan: Plan, planted?: Planted): Promise<readonly string[]> {
  const { outside } = await lifeOf(plan, planted);
  return outside.faults;
}

/** What has come of a run, and what it has done outside. */
interface Lived {
  readonly outside: Outside;
  readonly result: RunResult | undefined;
}

export async function lifeOf(plan: Plan, planted?: Planted): Promise<Lived> {
  const outside = new Outside(planted);
  let result: RunResult | undefined;
  const noteUnhandled = (error: unknown): void => void outside.faults.push(`unhandled: ${String(error)}`);
  process.on("unhandledRejection", noteUnhandled);
  try {
    let store = plan.journal === "none" ? undefined : new MemoryJournal();
    let now = 1_000_000;
    let decided = 0;
    let doubts: readonly string[] = [];
    let retries = plan.retries ?? 0;
    let retryFailed = false;
    const most = plan.lives.length + MORE_LIVES + retries;
    for (let number = 0; number < most && outside.faults.length === 0; number++) {
      const isPlanned = number < plan.lives.length;
      const house = new House(outside, virtualClock({ now }), number, plan.lives[number] ?? []);
      house.downAfter = plan.outages?.[number] ?? Infinity;
      const decide = (key: string) =>
        [key, plan.decisions[decided++ % plan.decisions.length] ?? "fail"] as const;
      const decisions = Object.fromEntries(doubts.map(decide));
      outside.retries += Object.values(decisions).filter((one) => one === "retry").length;
      // One that crashes each time beside a tool in doubt would be restarted for ever.
      const calm = { ...plan, failAt: undefined, isRestarted: false };
      const stay = new Stay(house, isPlanned ? plan : calm, store);
      await stay.toEnd(decisions, retryFailed);
      house.isDead = true;
      retryFailed = stay.hasFailed && retries-- > 0;
      result = stay.result;
      if (store === undefined || (stay.isOver && !retryFailed)) return { outside, result };
      if (retryFailed) outside.forgetFailures();
      else outside.lose(number);
      doubts = stay.doubts;
      store = stay.left ?? leftOf(store);
      now = house.clock.now() + plan.laterMs;
    }
    if (outside.faults.length === 0) outside.faults.push("it never came to an end");
    return { outside, result };
  } finally {
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", noteUnhandled);
  }
}

/** The run in one process, until it ends, is suspended or fails, or the process dies. */
class Stay {
  /** What a crash has left of the journal. */
  left: MemoryJournal | undefined;
  doubts: readonly string[] = [];
  isOver = false;
  private readonly house: House;
  private readonly plan: Plan;
  private readonly store: MemoryJournal | undefined;
  private readonly office: Office;
  private readonly controller = new AbortController();
  private readonly asked = new Map<string, number>();
  private handle: RootHandle | undefined;
  result: RunResult | undefined;
  private failure: unknown;
  private isCancelled = false;
  private answers = 0;

  constructor(house: House, plan: Plan, store: MemoryJournal | undefined) {
    this.house = house;
    this.plan = plan;
    this.store = store;
    const journal = store && journalOf(house, store, plan);
    this.office = new Office(house, plan, journal, agentOf(house, "root", plan.root));
    const act = (deed: Deed): void => this.act(deed);
    house.act = act;
  }

  private fault(text: string): void {
    this.house.outside.faults.push(`process ${this.house.number}: ${text}`);
  }

  private get hasStopped(): boolean {
    return this.left !== undefined || this.result !== undefined || this.failure !== undefined;
  }

  get hasFailed(): boolean {
    return this.isOver && this.result?.status === "failed";
  }

  async toEnd(decisions: Record<string, "retry" | "skip" | "fail">, retryFailed: boolean): Promise<void> {
    const { plan, store, office, controller } = this;
    const { runtime, onEvent } = office;
    const seen = { signal: controller.signal, onEvent };
    const isKnown = store !== undefined && store.load(RUN).length > 0;
    const [executionBudget, spawnBudget] = [plan.limits, { maxAgents: plan.maxAgents }];
    this.handle = isKnown
      ? runtime.resume(RUN, { ...seen, decisions, retryFailed })
      : runtime.run(agentOf(this.house, "root", plan.root), "go", {
          ...seen,
          runId: RUN,
          executionBudget,
          spawnBudget,
        });
    this.handle.result.then(
      (result) => (this.result = result),
      (error: unknown) => (this.failure = error ?? "nothing"),
    );
    await this.drive();
    this.compareTraces();
    if (this.left === undefined) await this.check();
  }

  /** Moves the time. After a while somebody answers what the run waits for, and at last cancels it. */
  private async drive(): Promise<void> {
    const { clock } = this.house;
    for (let round = 0; !this.hasStopped; round++) {
      await clock.advance(round < 5 ? 0 : round < 30 ? 1_000 : 20_000);
      if (this.hasStopped) return;
      if ((this.office.seats?.held ?? 0) > this.plan.maxAgents) this.fault("more agents than allowed");
      if (round === 6 || round === 40) await this.checkList();
      if (round > 15 && round % 4 === 0) await this.help();
      if (round === GIVE_UP) this.act({ deed: "cancel", at: 0, when: "now", n: 0 });
      if (round > GIVE_UP + 3) {
        const open = [...this.asked].filter(([, n]) => n > 0).map(([name]) => name);
        return this.fault(`it hangs, also after it was cancelled; open: ${open.join()}`);
      }
    }
  }

  private act({ deed, n }: Deed): void {
    const { runtime } = this.office;
    if (this.house.isDead || this.hasStopped) return;
    const [, to = RUN] = [...this.house.trace.keys()];
    if (deed === "crash" && this.store !== undefined) {
      this.left = leftOf(this.store);
      this.house.isDead = true;
    }
    this.isCancelled ||= deed === "cancel" || deed === "handle" || deed === "abort";
    if (deed === "cancel") this.watch(deed, runtime.cancel(RUN, "from outside"));
    if (deed === "handle") this.handle?.cancel("by its handle");
    if (deed === "abort") this.controller.abort("by a signal");
    if (deed === "close") this.watch(deed, runtime.close());
    if (deed === "grace") this.watch(deed, runtime.close({ graceMs: 1 + n * 500 }));
    if (deed === "drain") this.watch(deed, runtime.close({ drain: true }));
    if (deed === "deliver") this.watch(deed, runtime.deliver(RUN, `w${n % 2}`, n));
    if (deed === "deliverTwice") this.watch(deed, runtime.deliver(RUN, `w${n % 2}`, n, { id: `d${n % 2}` }));
    if (deed === "mustExist") this.watch(deed, runtime.deliver(RUN, `w${n % 2}`, n, { mustExist: true }));
    if (deed === "send") this.watch(deed, runtime.send(RUN, n));
    if (deed === "sendTo") this.watch(deed, runtime.send(RUN, n, { to, id: `s${n}` }));
    if (deed === "grant") this.watch(deed, runtime.deliver(RUN, `approval:budget:${to}`, { tokens: 50 }));
    if (deed === "list") this.watch(deed, runtime.list());
    if (deed === "events") this.watch(deed, this.readEvents());
  }

  /** Whoever asks for something gets an answer, or an error that says what was wrong. */
  private watch(what: string, answer: Promise<unknown>): void {
    const add = (n: number): void => void this.asked.set(what, (this.asked.get(what) ?? 0) + n);
    add(1);
    const refused = (error: unknown): void => {
      if (!isRaviError(error) && !this.house.isBroken) this.fault(`${what}: ${String(error)}`);
    };
    void answer.catch(refused).finally(() => add(-1));
  }

  private async readEvents(): Promise<void> {
    let last = 0;
    for await (const { seq } of this.handle?.events() ?? []) {
      if (seq <= last) this.fault(`event ${seq} after ${last}`);
      last = seq;
    }
  }

  private async help(): Promise<void> {
    const { runtime } = this.office;
    const [summary] = await runtime.list().catch(() => []);
    if (this.hasStopped) return;
    for (const { kind, name } of summary?.waitingFor ?? []) {
      const answer: JsonValue = kind === "signal" ? this.answers++ : this.nextAnswer();
      if (kind !== "timer" && kind !== "decision") this.watch("help", runtime.deliver(RUN, name, answer));
    }
    for (const [to, n] of this.house.receiving)
      if (n > 0) this.watch("mail", runtime.send(RUN, this.answers++, { to }));
  }

  private nextAnswer(): JsonValue {
    const { answers } = this.plan;
    return ANSWERS[answers[this.answers++ % answers.length] ?? 0] ?? true;
  }

  /** Whoever is paused has not begun to wait; all others that wait are listed, and nobody else is. */
  private async checkList(): Promise<void> {
    const { plan, house, office } = this;
    // Between a crash and the restart, what was waited for before it is still listed.
    if (plan.journal !== "sync" || plan.isRestarted || house.isBroken) return;
    const [summary] = await office.runtime.list();
    if (this.hasStopped) return;
    for (const name of ["w0", "w1"]) {
      const waiting = house.waiting.get(name) ?? 0;
      const listed = summary?.waitingFor?.filter((wait) => wait.name === name).length ?? 0;
      const isAnyPaused = (office.seats?.paused.length ?? 0) > 0;
      if (listed > waiting || (listed < waiting && !isAnyPaused))
        this.fault(`${listed} waits for ${name} are listed, and ${waiting} wait`);
    }
  }

  /**
   * What an agent has seen is on record, so it sees the same again. Not on record are that a spawned child has started, and calls that are
   * refused for their arguments: who has nothing else on record may be paused before them, the next time.
   */
  private compareTraces(): void {
    const { traces } = this.house.outside;
    if (this.store === undefined) return;
    for (const [exec, trace] of this.house.trace) {
      const before = traces.get(exec) ?? [];
      const at = trace.findIndex((text, n) => n < before.length && text !== before[n]);
      const isLastSpawn = at === before.length - 1 && before[at]?.startsWith("spawn") === true;
      if (at !== -1 && !isLastSpawn && trace[at]?.endsWith("! PAUSED") !== true)
        this.fault(`${exec} saw "${before[at]}", and in a replay "${trace[at]}"`);
      if (trace.length > before.length) traces.set(exec, trace);
    }
  }

  private async check(): Promise<void> {
    const { house, result, failure, plan } = this;
    await house.clock.advance(2_000);
    // A journal answers after a turn, and is asked a few times.
    for (let turn = 0; turn < 10; turn++) await house.turn();
    for (const [what, n] of this.asked) if (n > 0) this.fault(`${what} got no answer`);
    if (failure !== undefined && !house.isBroken) this.fault(`the result was rejected: ${String(failure)}`);
    if (result === undefined) return;
    // The process before has died right after it recorded the end.
    if (this.office.books === undefined) return void (this.isOver = true);
    this.checkOrder(result);
    this.checkMoney(result);
    if (plan.isObserved) this.checkObserved(result);
    if (this.store !== undefined && !house.isBroken) await this.checkRecord(result, this.store);
    this.isOver ||= result.status !== "suspended";
  }

  /** Nothing is left of it. */
  private checkOrder({ status, agents = [] }: RunResult): void {
    const { office, house } = this;
    const { seats, books, pool, errors } = office;
    const isEnded = status !== "suspended";
    if (books?.open !== 0) this.fault(`${books?.open} reservations are open after ${status}`);
    if (isEnded && (seats?.held !== 1 || seats.paused.length > 0))
      this.fault(`seats are held after ${status}`);
    if (!house.isBroken && house.clock.pending > house.timers) this.fault(`timers are left after ${status}`);
    if (house.open === 0 && pool !== undefined && pool.active + pool.waiting > 0)
      this.fault("permits are held");
    // On the virtual clock a second may pass before a journal that takes a few turns has answered.
    const own = errors.filter(
      (text) => !house.isBroken && (this.plan.journal === "sync" || !/journal/.test(text)),
    );
    if (own.length > 0) this.fault(`logged: ${own.join()}`);
    for (const [name, places] of house.outside.hires) {
      const hired = agents.filter(({ agentId }) => agentId.startsWith(`${name}/`)).length;
      if (hired > places.size)
        this.fault(`${name} was hired ${hired} times, and asked for ${places.size} times`);
    }
    for (const one of agents)
      if (isEnded && LIVING.has(one.status)) this.fault(`${one.execId} is ${one.status} after ${status}`);
  }

  /** The result, the accounts and the ledger say the same, and no less than the provider. */
  private checkMoney({ usage, cost, agents = [], limits, status, inDoubt = [] }: RunResult): void {
    const { sent, crashes } = this.house.outside;
    const tokens = totalTokens(usage);
    // An answer that nobody has got may have been given up before it came.
    for (const each of sent) if (each.isAnswered && !each.isSeen) each.most = MOST;
    const least = sent.reduce((sum, each) => sum + each.least, 0);
    const most = sent.reduce((sum, each) => sum + each.most, 0);
    const records = this.store?.load(RUN) ?? [];
    const begun = records.filter(({ key, phase }) => phase === "begin" && /^(llm|spend):/.test(key)).length;
    // A call that had begun at a crash is charged, although it may not have been sent.
    const unsent = crashes > 0 || status !== "completed" ? Math.max(0, begun - sent.length) * MOST : 0;
    if (tokens < least || tokens > most + unsent)
      this.fault(`${tokens} tokens; the provider: ${least} to ${most}`);
    if (Math.round((cost ?? NaN) * 1e6) !== tokens) this.fault(`${cost} dollars for ${tokens} tokens`);
    const sum = agents.reduce((total, one) => total + totalTokens(one.usage), 0);
    if (sum !== tokens) this.fault(`the accounts have ${sum} tokens, the result ${tokens}`);
    const { used } = this.office.books ?? {};
    if (used?.tokens !== tokens) this.fault(`the ledger has ${used?.tokens} tokens, the result ${tokens}`);
    const cap = limits?.executionBudget?.maxTokens ?? Infinity;
    if (least > cap || (unsent === 0 && tokens > cap)) this.fault(`${tokens} tokens of ${cap}`);
    const toolCalls = agents.reduce((total, one) => total + one.toolCalls, 0);
    const isCertain = status !== "suspended" && inDoubt.length === 0;
    if (isCertain && used?.toolCalls !== toolCalls)
      this.fault(`${used?.toolCalls} of ${toolCalls} tool calls`);
  }

  /** Every start has its end, once. What was given up may still end later. */
  private checkObserved({ status }: RunResult): void {
    const { office, house } = this;
    if (status === "suspended" || house.open > 0 || house.starts > 1) return;
    for (const [name, open] of office.begun) if (open !== 0) this.fault(`${name} has ${open} ends too few`);
    if (office.spans !== 0) this.fault(`${office.spans} spans are open`);
    const count = (exec: string, ...types: readonly string[]): number =>
      office.events.filter(({ execId, event }) => execId === exec && types.includes(event.type)).length;
    for (const exec of new Set(office.events.map(({ execId }) => execId))) {
      if (count(exec, "started") !== 1) this.fault(`${exec} has not started once`);
      if (count(exec, "completed", "error") !== 1) this.fault(`${exec} has not ended once`);
    }
  }

  /** The record tells what the result tells, but a call that ended too late to be recorded is open there. */
  private async checkReport(result: RunResult, store: MemoryJournal): Promise<void> {
    const isEnded = result.status !== "suspended";
    const report = await new Runtime({ journal: store }).inspect(RUN);
    // The end of a run has its sums, so what they come from is read without it.
    const left = isEnded ? leftOf(store, store.load(RUN).length - 1) : store;
    const entries = await new Runtime({ journal: left }).inspect(RUN);
    const told = sumOf(result);
    if (isEnded && sumOf(report) !== told) this.fault(`its report has ${sumOf(report)}, its result ${told}`);
    if (isEnded && String(report.inDoubt) !== String(result.inDoubt))
      this.fault(`its report doubts ${String(report.inDoubt)}, its result ${String(result.inDoubt)}`);
    const events = await new Runtime({ journal: store }).recordedEvents(RUN);
    const ends = ["completed", "error"];
    if (isEnded && !ends.includes(events.at(-1)?.event.type ?? "")) this.fault("its last event is no end");
    if (entries.calls.some(({ status }) => status === "open")) return;
    // Who was about to be hired when the run was suspended is not on record, and has used nothing.
    const isKnown = ({ execId }: AgentAccount): boolean =>
      entries.agents.some((one) => one.execId === execId);
    const known = { ...result, agents: result.agents?.filter(isKnown) };
    if (sumOf(entries) !== sumOf(known))
      this.fault(`its entries have ${sumOf(entries)}, its result ${sumOf(known)}`);
  }

  private async checkRecord(result: RunResult, store: MemoryJournal): Promise<void> {
    const { sent } = this.house.outside;
    const { status, error } = result;
    const [summary] = store.list();
    // Whoever cancels a run that is about to be suspended ends it at rest.
    if (this.isCancelled && status === "suspended" && summary?.status === "cancelled") {
      this.isOver = true;
      return;
    }
    if (summary?.status !== status) this.fault(`it is ${status}, and listed as ${summary?.status}`);
    if (isRaviError(error, "NON_DETERMINISM")) this.fault(error.message);
    await this.checkReport(result, store);
    const waits = summary?.waitingFor ?? [];
    this.doubts = waits.filter(({ kind }) => kind === "decision").map(({ name }) => name);
    // Of a run that was cancelled nothing is asked, even if it has not ended yet.
    const isAsking = status === "suspended" && isRaviError(error, "NEEDS_DECISION") && !this.isCancelled;
    if (isAsking && this.doubts.length === 0) this.fault("a decision is not listed");
    if (status === "suspended") return;
    if (waits.length > 0) this.fault(`waits are listed after ${status}`);
    const before = sent.length;
    const again = await new Runtime({ journal: store }).resume(RUN).result;
    if (again.status !== status || again.output !== result.output || again.cost !== result.cost)
      this.fault(`it was ${status}, and is ${again.status}`);
    if (sent.length > before) this.fault("a run that is over has called a model");
  }
}

const ANSWERS: readonly JsonValue[] = [
  true,
  false,
  { tokens: 60 },
  { turns: 2 },
  "maybe",
  { approved: true },
];

/** What was paid, in total and by each agent. Calls that were refused before they were sent are counted on record only. */
function sumOf({ usage, cost, agents = [] }: Pick<RunResult, "usage" | "cost" | "agents">): string {
  const paid = agents.map((one) => [one.execId, one.agentId, one.parent, one.usage, one.costUsd]);
  return JSON.stringify({ usage, cost, paid });
}

const LIVING: ReadonlySet<string> = new Set(["pending", "running", "suspended"]);
