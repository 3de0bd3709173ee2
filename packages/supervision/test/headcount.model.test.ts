import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Roster } from "../src/headcount/roster.ts";
import type { Member } from "../src/headcount/member.ts";
import { Disagreement } from "./model/commands.ts";
import { headcountProperty } from "./model/property.ts";

const RUNS = process.env["RAVI_LONG"] ? 200_000 : 2000;

describe("T3: the headcount beside a reference that looks at everybody", () => {
  test(`R14, R15: ${RUNS} random sequences of up to 100 commands`, { timeout: 3_600_000 }, async () => {
    await fc.assert(headcountProperty(), { numRuns: RUNS });
  });
});

class VictimStaysCandidate extends Roster {
  protected override chooseVictim(asker: Member): Member | undefined {
    const again = this.waiting().find(
      ({ state, priority }) => state === "paused" && priority < asker.priority,
    );
    return again ?? super.chooseVictim(asker);
  }
  protected override pause(member: Member): void {
    if (member.state === "holding") super.pause(member);
  }
  override get held(): number {
    return Math.min(super.held, this.budget.maxAgents);
  }
}

class VictimsReleaseFreesSlot extends Roster {
  protected override drop(member: Member): void {
    const { state } = member;
    super.drop(member);
    if (state !== "paused") return;
    this.occupancy.held--;
    this.fill();
  }
}

class ResumesInReverse extends Roster {
  protected override chooseNext(): Member | undefined {
    return this.waiting().at(-1);
  }
}

class OnePastTheCap extends Roster {
  protected override hasRoom(): boolean {
    return this.occupancy.held <= this.budget.maxAgents;
  }
}

class ForgetsAge extends Roster {
  protected override chooseNext(): Member | undefined {
    return super.chooseNext(0);
  }
}

class TakesAncestors extends Roster {
  protected override chooseVictim(asker: Member): Member | undefined {
    const { parent } = asker;
    return parent !== undefined && parent !== this.tree.root && parent.priority < asker.priority
      ? parent
      : super.chooseVictim(asker);
  }
}

class TakesTheOldest extends Roster {
  protected override chooseVictim(asker: Member): Member | undefined {
    const newest = super.chooseVictim(asker);
    return this.tree
      .list()
      .find(({ state, priority }) => state === "holding" && priority === newest?.priority);
  }
}

class TakesEquals extends Roster {
  protected override chooseVictim(asker: Member): Member | undefined {
    return (
      super.chooseVictim(asker) ??
      this.tree.list().findLast(({ state, priority }) => state === "holding" && priority === asker.priority)
    );
  }
}

class QueuesWithoutEnd extends Roster {
  protected override isDeadlocked(): boolean {
    return false;
  }
}

class GivesTheLastSlotAway extends Roster {
  protected override chooseNext(now: number): Member | undefined {
    return this.occupancy.queue.best(now);
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
