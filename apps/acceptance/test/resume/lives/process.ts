import {
  type Agent,
  AgentId,
  type Hooks,
  type Journal,
  type JournalEntry,
  type PostedItem,
  Priority,
  RunId,
  type RunEvent,
  type Supervision,
  type Telemetry,
} from "@ravi/kernel";
import { MiddlewarePipeline, retry, timeout } from "@ravi/middleware";
import { ExecutionTracker, FairPool } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";
import { type House, meter, NEVER } from "./outside.ts";
import type { Plan } from "./plan.ts";

export const RUN = RunId("r");

/** The journal as one process has it: it may answer late, and fail at an append. */
export function journalOf(house: House, store: MemoryJournal, { journal, failAt }: Plan): Journal {
  let appends = 0;
  const gate = <T>(answer: () => T): T | Promise<T> => {
    if (house.isDead) return NEVER;
    return journal === "sync" ? answer() : house.turn().then(answer);
  };
  const own: Partial<Journal> = {
    append: (...given) => {
      if (!house.isDead) house.tick();
      if (!house.isDead && appends++ === failAt) {
        house.isBroken = true;
        throw new Error("disk full");
      }
      if (house.outside.planted === "a forgotten end" && isEndOfCall(given[2])) return undefined;
      return gate(() => store.append(...given));
    },
    claim: (...given) => gate(() => store.claim(...given)),
    load: (...given) => gate(() => store.load(...given)),
    release: (...given) => gate(() => store.release(...given)),
    items: (...given) => gate(() => store.items(...given)),
    post: (...given) => gate(() => store.post(...given)),
  };
  return Object.assign(Object.create(store) as MemoryJournal, own);
}

function isEndOfCall([entry]: readonly JournalEntry[]): boolean {
  return entry?.phase === "end" && entry.key.startsWith("llm:");
}

/** What a crash at this moment, or after so many entries, leaves of a journal. */
export function leftOf(store: MemoryJournal, most = Infinity): MemoryJournal {
  const left = new MemoryJournal();
  const records = store.load(RUN).slice(0, most);
  const claim = records.length === 0 ? null : left.claim(RUN, "crashed", 1);
  if (claim !== null) {
    const entries = records.map(({ seq: _seq, ...entry }) => entry);
    left.append(RUN, claim.epoch, entries);
    left.release(RUN, claim.epoch);
  }
  for (const { seq: _seq, ...item } of store.items(RUN, 0)) left.post(RUN, item satisfies PostedItem);
  return left;
}

/** The rules and the observers of one process, which count what they see. */
export class Office {
  seats: SpawnTracker | undefined;
  books: ExecutionTracker | undefined;
  spans = 0;
  readonly pool: FairPool | undefined;
  readonly errors: string[] = [];
  readonly events: RunEvent[] = [];
  /** How many of each kind were told of their start and not of their end. */
  readonly begun = new Map<string, number>();
  readonly runtime: Runtime;
  private readonly house: House;

  constructor(house: House, plan: Plan, journal: Journal | undefined, root: Agent) {
    const { clock } = house;
    this.house = house;
    this.pool = plan.permits === undefined ? undefined : new FairPool({ concurrency: plan.permits, clock });
    let ids = 0;
    const random = (): number => 0.5;
    const waits = { maxRetries: 2, baseMs: 100, random };
    this.runtime = new Runtime({
      clock,
      meter,
      agents: [root],
      ids: { uuid: () => `${house.number}-${ids++}`, random },
      headcount: (of: Supervision) => this.seatsOf(of),
      ledger: (of: Supervision) =>
        (this.books = new ExecutionTracker(of.executionBudget, { scope: of.rootId })),
      logger: {
        debug() {},
        info() {},
        warn() {},
        error: (message: string) => void this.errors.push(message),
      },
      ...(this.pool !== undefined && { limiter: this.pool }),
      ...(journal !== undefined && { journal }),
      ...(journal !== undefined && plan.isRestarted && { restart: new RetryPolicy(waits) }),
      ...(plan.isRetried && {
        pipelines: { chat: new MiddlewarePipeline([retry(waits), timeout({ timeoutMs: 20_000 })]) },
      }),
      ...(plan.isObserved && { hooks: this.hooks, telemetry: this.telemetry }),
    });
  }

  private seatsOf({ spawnBudget, rootId }: Supervision): SpawnTracker {
    this.seats = new SpawnTracker(spawnBudget, { rootId });
    const isLost = this.house.outside.planted === "a lost seat" && spawnBudget.maxAgents > 1;
    if (isLost) this.seats.acquire(AgentId("ghost"), Priority.CRITICAL);
    return this.seats;
  }

  readonly onEvent = (event: RunEvent): void => {
    const { house, events } = this;
    if (house.isDead) return;
    if (event.seq !== events.length + 1)
      house.outside.faults.push(`event ${event.seq} after ${events.length}`);
    events.push(event);
  };

  private get hooks(): Hooks {
    return {
      has: () => true,
      dispatch: (event, payload) => {
        const [, kind, end] = /^(run|llm|tool)_(start|end)$/.exec(event) ?? [];
        if (kind === undefined) return;
        const name = `${kind} ${payload.execId} ${"key" in payload ? payload.key : ""}`;
        this.begun.set(name, (this.begun.get(name) ?? 0) + (end === "start" ? 1 : -1));
      },
      drain: () => {},
    };
  }

  private get telemetry(): Telemetry {
    const startSpan: Telemetry["startSpan"] = () => {
      this.spans++;
      return { setAttribute() {}, recordError() {}, end: () => void this.spans-- };
    };
    return { isNoop: false, metric() {}, startSpan };
  }
}
