import type { Headcount, MaybePromise } from "@ravi/kernel";
import { andThen } from "../promises/and-then.ts";
import type { InProcessEngine } from "./in-process.ts";

/** What it asks the headcount. */
type Pauses = Pick<Headcount, "isPaused" | "whenResumed">;

/** The seat of one execution in the headcount of its tree: whether it was preempted. */
export class Seat {
  private readonly engine: InProcessEngine;
  private readonly headcount: Pauses;

  constructor(engine: InProcessEngine, headcount: Pauses) {
    this.engine = engine;
    this.headcount = headcount;
  }

  isPaused(n: number): MaybePromise<boolean> {
    const { replay, start } = this.engine;
    const givesWay = start.onPreempt === "return";
    // It is on record that it returned at this point, so a replay does the same, whatever the headcount says now.
    if (givesWay && replay?.isRecorded(keyOf(n)) === true) return this.giveWay(n);
    // A replay is not paused: it costs nothing.
    if (replay?.isCatchingUp === true) return false;
    const paused = this.headcount.isPaused(start.supervision.agentId);
    if (!givesWay) return paused;
    return andThen(paused, (isSo) => isSo && this.giveWay(n));
  }

  async whenResumed(): Promise<void> {
    const { clock, start, token, tree } = this.engine;
    const parked = { execId: start.execId, since: clock.now(), isOwn: true };
    tree.askClocks.stand(parked);
    try {
      await this.headcount.whenResumed(start.supervision.agentId, token.signal);
    } finally {
      tree.askClocks.go(parked);
    }
  }

  private giveWay(n: number): MaybePromise<boolean> {
    return andThen(
      this.engine.recorder.fact(keyOf(n), () => true),
      () => true,
    );
  }
}

function keyOf(n: number): string {
  return `paused:${n}`;
}
