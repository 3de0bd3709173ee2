import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Roster } from "../src/headcount/roster.ts";
import type { Seat } from "../src/headcount/seat.ts";
import { Disagreement } from "./model/commands.ts";
import { headcountProperty } from "./model/property.ts";

const RUNS = process.env["RAVI_LONG"] ? 200_000 : 2000;

describe("T3: the headcount beside a reference that looks at everybody", () => {
  test(`R14, R15: ${RUNS} random sequences of up to 100 commands`, { timeout: 3_600_000 }, async () => {
    await fc.assert(headcountProperty(), { numRuns: RUNS });
  });
});

class VictimStaysCandidate extends Roster {
  protected override chooseVictim(asker: Seat): Seat | undefined {
    const again = this.waiting().find(
      ({ state, priority }) => state === "paused" && priority < asker.priority,
    );
    return again ?? super.chooseVictim(asker);
  }
  protected override pause(seat: Seat): void {
    if (seat.state === "holding") super.pause(seat);
  }
  override get held(): number {
    return Math.min(super.held, this.budget.maxAgents);
  }
}

class VictimsReleaseFreesSlot extends Roster {
  protected override drop(seat: Seat): void {
    const { state } = seat;
    super.drop(seat);
    if (state !== "paused") return;
    this.floor.held--;
    this.fill();
  }
}

class ResumesInReverse extends Roster {
  protected override chooseNext(): Seat | undefined {
    return this.waiting().at(-1);
  }
}

class OnePastTheCap extends Roster {
  protected override hasRoom(): boolean {
    return this.floor.held <= this.budget.maxAgents;
  }
}

class ForgetsAge extends Roster {
  protected override chooseNext(): Seat | undefined {
    return super.chooseNext(0);
  }
}

class TakesAncestors extends Roster {
  protected override chooseVictim(asker: Seat): Seat | undefined {
    const { parent } = asker;
    return parent !== undefined && parent !== this.staff.root && parent.priority < asker.priority
      ? parent
      : super.chooseVictim(asker);
  }
}

class TakesTheOldest extends Roster {
  protected override chooseVictim(asker: Seat): Seat | undefined {
    const newest = super.chooseVictim(asker);
    return this.staff
      .hired()
      .find(({ state, priority }) => state === "holding" && priority === newest?.priority);
  }
}

class TakesEquals extends Roster {
  protected override chooseVictim(asker: Seat): Seat | undefined {
    return (
      super.chooseVictim(asker) ??
      this.staff.hired().findLast(({ state, priority }) => state === "holding" && priority === asker.priority)
    );
  }
}

class QueuesWithoutEnd extends Roster {
  protected override isEndless(): boolean {
    return false;
  }
}

class GivesTheLastSlotAway extends Roster {
  protected override chooseNext(now: number): Seat | undefined {
    return this.floor.queue.best(now);
  }
}

class LeavesSlotEmpty extends Roster {
  protected override fill(): void {}
}

describe("T3: the oracles bite", () => {
  test.each([
    ["a victim stays a candidate", VictimStaysCandidate],
    ["a victim's release frees a slot", VictimsReleaseFreesSlot],
    ["the resume order is reversed", ResumesInReverse],
    ["held may pass the cap by one", OnePastTheCap],
    ["waiting does not raise a place", ForgetsAge],
    ["a victim may be the asker's parent", TakesAncestors],
    ["a victim is the oldest among equals", TakesTheOldest],
    ["a victim may be an equal", TakesEquals],
    ["a hire is queued though it could never end", QueuesWithoutEnd],
    ["the last slot goes to somebody who awaits the queue", GivesTheLastSlotAway],
    ["a freed slot stays empty", LeavesSlotEmpty],
  ])("R14, R15: found when %s", { timeout: 120_000 }, async (_bug, Planted) => {
    const found = await fc.check(headcountProperty(Planted), { numRuns: 50_000, endOnFailure: true });
    expect(found.failed).toBe(true);
    expect(found.errorInstance).toBeInstanceOf(Disagreement);
  });
});
