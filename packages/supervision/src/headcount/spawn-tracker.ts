import {
  AgentId,
  type Clock,
  InvalidValueError,
  type SpawnBudget,
  type SpawnBudgetOptions,
  checkFields,
  checkInteger,
  spawnBudget,
  systemClock,
} from "@ravi/kernel";
import { checkAgentId } from "./check-id.ts";
import { Roster } from "./roster.ts";
import { RosterHeadcount } from "./roster-headcount.ts";
import { readSnapshot } from "./snapshot.ts";

export interface SpawnTrackerOptions {
  /** Holds a slot from the start, is never paused and never gives it back; called `root` unless given. In a run: its root. */
  readonly rootId?: AgentId | undefined;
  readonly clock?: Clock | undefined;
  /** How long somebody waits until its place in the queue rises by one priority step; a minute unless given. */
  readonly agingMs?: number | undefined;
}

export interface RestoreOptions {
  readonly clock?: Clock | undefined;
  /** As it was, unless given. */
  readonly agingMs?: number | undefined;
}

const ROOT = AgentId("root");
const AGING_MS = 60_000;
const OPTIONS = ["rootId", "clock", "agingMs"] as const;

/** The headcount of one run: one for the whole tree, however deep. */
export class SpawnTracker extends RosterHeadcount {
  constructor(budget: SpawnBudget | SpawnBudgetOptions = {}, options: SpawnTrackerOptions = {}) {
    checkFields("options", options, OPTIONS);
    const { clock = systemClock } = options;
    if (typeof clock?.now !== "function") {
      throw new InvalidValueError({ field: "clock", value: clock, expected: "an object with a method now" });
    }
    super(
      new Roster({
        budget: spawnBudget(budget),
        rootId: checkAgentId("rootId", options.rootId ?? ROOT),
        clock,
        agingMs: checkInteger("agingMs", options.agingMs ?? AGING_MS, 1),
      }),
    );
  }

  /**
   * Brings back who held, who was paused or queued, in which order and for how long. Leases and promises ended with their
   * process, so everybody but the root can be acquired once more: that gives the lease of who holds or is paused, and the
   * old place to who was queued. Nothing is counted again. Whose slot comes first simply holds it when it is acquired.
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
