import {
  type AgentId,
  errorToJSON,
  type Headcount,
  InvalidValueError,
  type JsonObject,
  type Priority,
  type SerializedError,
  type Supervision,
} from "@ravi/kernel";
import type { RootState } from "./state.ts";

/** Creates the headcount of a tree, or restores it if a snapshot is given. */
export type HeadcountFactory = (root: Supervision, snapshot?: JsonObject) => Headcount;

export type Seating = "held" | "queued" | { readonly denied: SerializedError };

/** The seats of a tree, for one message: restored from their snapshot, used, and saved again. */
export class Seats {
  private readonly state: RootState;
  private readonly headcount: Headcount | undefined;
  private readonly queued = new Map<string, { isHeld: boolean }>();

  private constructor(state: RootState, headcount: Headcount | undefined) {
    this.state = state;
    this.headcount = headcount;
  }

  static open(state: RootState, root: Supervision, make: HeadcountFactory | undefined): Seats {
    const headcount = make === undefined ? undefined : createHeadcount(make, root, state.seats ?? undefined);
    const seats = new Seats(state, headcount);
    for (const exec of Object.values(state.execs)) {
      const { phase, launch, agentId, priority } = exec;
      if (phase === "queued" && launch !== null) seats.requeue(agentId, priority, launch.supervision);
    }
    return seats;
  }

  /** Takes a seat, queues for one, or says why it is denied. */
  async take(
    agentId: string,
    priority: Priority | null,
    parentId: string,
    onFull: "deny" | "queue",
  ): Promise<Seating> {
    const { headcount } = this;
    if (headcount === undefined) return "held";
    const id = agentId as AgentId;
    const options = { parentId: parentId as AgentId };
    try {
      if (onFull === "deny") {
        await headcount.acquire(id, priority ?? undefined, options);
        return "held";
      }
      const place = this.queue(headcount, id, priority, parentId);
      await settled();
      if (place.error !== undefined) return { denied: errorToJSON(place.error) };
      return place.isHeld ? "held" : "queued";
    } catch (error) {
      return { denied: errorToJSON(error) };
    }
  }

  async release(agentId: string): Promise<void> {
    await this.headcount?.release(agentId as AgentId);
    await settled();
  }

  async isPaused(agentId: string): Promise<boolean> {
    return (await this.headcount?.isPaused(agentId as AgentId)) ?? false;
  }

  /** Whether an execution that was queued has its seat now. */
  hasComeUp(agentId: string): boolean {
    return this.headcount === undefined || this.queued.get(agentId)?.isHeld === true;
  }

  /** Saves the headcount to the state. */
  keep(): void {
    if (this.headcount !== undefined) this.state.seats = this.headcount.snapshot();
  }

  private requeue(agentId: string, priority: Priority | null, supervision: JsonObject): void {
    const { headcount } = this;
    const parentId = supervision["parentId"];
    if (headcount !== undefined && typeof parentId === "string")
      this.queue(headcount, agentId as AgentId, priority, parentId);
  }

  private queue(
    headcount: Headcount,
    id: AgentId,
    priority: Priority | null,
    parentId: string,
  ): { isHeld: boolean; error?: unknown } {
    const place: { isHeld: boolean; error?: unknown } = { isHeld: false };
    this.queued.set(id, place);
    const options = { onFull: "queue", parentId: parentId as AgentId } as const;
    headcount.acquire(id, priority ?? undefined, options).then(
      () => (place.isHeld = true),
      (error: unknown) => (place.error = error),
    );
    return place;
  }
}

/** Throws if the factory returns no headcount: otherwise everybody would get a seat. */
function createHeadcount(make: HeadcountFactory, root: Supervision, snapshot?: JsonObject): Headcount {
  const headcount: Partial<Headcount> | undefined = make(root, snapshot);
  if (typeof headcount?.acquire === "function") {
    if (headcount.nameRoot?.(root.agentId) !== false) return headcount as Headcount;
    const expected = `a function that returns a headcount whose root is ${root.agentId}`;
    throw new InvalidValueError({ field: "headcount", value: headcount, expected });
  }
  const expected = "a function that returns a Headcount, not a promise";
  throw new InvalidValueError({ field: "headcount", value: headcount, expected });
}

/** Waits until the grants of the last call are known. The promises of a headcount settle without I/O, after a few microtasks. */
async function settled(): Promise<void> {
  for (let n = 0; n < 8; n++) await Promise.resolve();
}
