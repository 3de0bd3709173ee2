import { type AgentId, type ExecId, type Headcount, isRaviError, type JournalRecord } from "@ravi/kernel";
import type { HireBegin } from "../engine/hire-record.ts";
import { addTo } from "./add-to.ts";

/** Takes seats and releases them in the order of the record, which leads to the same state as before the crash. */
export class SeatReplay {
  readonly seated = new Map<ExecId, AgentId>();
  private readonly headcount: Headcount;
  /** Hires that found no seat at first, and are on record as having worked: they have waited for one, and got it when it was free. */
  private readonly queue = new Map<ExecId, JournalRecord>();
  private readonly below = new Map<ExecId, ExecId[]>();

  constructor(headcount: Headcount) {
    this.headcount = headcount;
  }

  async begin(execId: ExecId, begin: JournalRecord, hasWorked: boolean): Promise<void> {
    addTo(this.below, begin.exec, execId);
    if ((await this.take(execId, begin)) !== "seated" && hasWorked) this.queue.set(execId, begin);
  }

  /** Releases the seat of a hire and those of everyone below it: agents without an end on record have ended with it. */
  async end(execId: ExecId): Promise<void> {
    const leaving = this.withAllBelow(execId);
    for (const id of leaving) this.queue.delete(id);
    const before = this.seated.size;
    for (const id of leaving.toReversed()) {
      const agentId = this.seated.get(id);
      if (agentId !== undefined) await this.headcount.release(agentId);
      this.seated.delete(id);
    }
    if (this.seated.size < before) await this.fill();
  }

  private async fill(): Promise<void> {
    for (const [next, begin] of this.queue) {
      const taken = await this.take(next, begin);
      if (taken === "seated") this.queue.delete(next);
      // There is no seat for those behind it either. To ask for each of them at each end would take minutes with some thousand hires.
      if (taken === "full") return;
    }
  }

  private async take(execId: ExecId, { body }: JournalRecord): Promise<"seated" | "full" | "denied"> {
    const { agentId, parentId, priority } = body as HireBegin;
    try {
      await this.headcount.acquire(agentId, priority, { parentId });
      this.seated.set(execId, agentId);
      return "seated";
    } catch (error) {
      // It was denied before the crash too, or it was waiting in the queue. Its hire asks again by itself.
      if (isRaviError(error, "BUDGET_EXHAUSTED")) return error.dimension === "agents" ? "full" : "denied";
      if (isRaviError(error, "INVALID_VALUE")) return "denied";
      throw error;
    }
  }

  /** The hire and everyone below it, parents before their children. */
  private withAllBelow(execId: ExecId): ExecId[] {
    const all = [execId];
    // The list grows during the loop.
    for (const next of all) for (const hired of this.below.get(next) ?? []) all.push(hired);
    return all;
  }
}
