import {
  AgentId,
  type Clock,
  type SpawnBudget,
  type SpawnBudgetOptions,
  checkFields,
  checkInteger,
  spawnBudget,
  systemClock,
} from "@ravi/kernel";
import { checkPort, keepShapes } from "@ravi/kernel/loop";
import { checkAgentId } from "./parts/check-id.ts";
import { Roster } from "./roster.ts";
import { RosterHeadcount } from "./roster-headcount.ts";
import { readSnapshot } from "./parts/snapshot.ts";

export interface SpawnTrackerOptions {
  /**
   * The run's root agent. It holds a slot from the start, is never paused and never releases it. Default: whom a runtime names
   * (`nameRoot`), or the `parentId` of the first hire.
   */
  readonly rootId?: AgentId | undefined;
  /** Only its `now` is used. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** After this many milliseconds of waiting, a place in the queue rises by one priority step. Default: 60,000. */
  readonly agingMs?: number | undefined;
}

export interface RestoreOptions {
  /** Only its `now` is used. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Milliseconds, as for `SpawnTracker`. Default: the value in the snapshot. */
  readonly agingMs?: number | undefined;
}

const AGING_MS = 60_000;
const OPTIONS = ["rootId", "clock", "agingMs"] as const;

/** The headcount of one run. One instance serves the whole tree, at any depth. */
export class SpawnTracker extends RosterHeadcount {
  /** Throws an `InvalidValueError` if the budget or an option is wrong. */
  constructor(budget: SpawnBudget | SpawnBudgetOptions = {}, options: SpawnTrackerOptions = {}) {
    checkFields("options", options, OPTIONS);
    const { clock = systemClock } = options;
    checkPort("clock", clock, ["now"]);
    super(
      new Roster({
        budget: spawnBudget(budget),
        rootId: options.rootId === undefined ? undefined : checkAgentId("rootId", options.rootId),
        clock,
        agingMs: checkInteger("agingMs", options.agingMs ?? AGING_MS, 1),
      }),
    );
  }

  /**
   * Restores a `snapshot()`: who held a slot, who was paused or queued, in which order and since when. Throws an `InvalidValueError` if the
   * snapshot is not valid.
   *
   * Leases and promises do not survive the process, so each agent except the root can be acquired once more, and is not counted
   * again. A holder or a paused agent gets its lease; a queued hire (`onFull: "queue"`) gets its old place, or a lease at once if
   * its slot came in the meantime.
   */
  static restore(snapshot: unknown, options: RestoreOptions = {}): SpawnTracker {
    checkFields("options", options, ["clock", "agingMs"]);
    const state = readSnapshot(snapshot);
    const { clock, agingMs = state.agingMs } = options;
    const tracker = new SpawnTracker(state.budget, { rootId: state.root.id, clock, agingMs });
    tracker.roster.load(state);
    return tracker;
  }
}

const specimen = new SpawnTracker();
keepShapes(specimen, specimen.acquire(AgentId("agent")));
