import type { AgentId, Headcount, JsonObject, Priority } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import {
  assertHeadcountCase,
  describeHeadcount,
  headcountCases,
  type HeadcountCase,
  type HeadcountSetup,
  type HeadcountSuite,
} from "../src/suites/index.ts";
import { HonestHeadcount, type Member, memberOf } from "./planted/honest-headcount.ts";
import { PLANTED_HEADCOUNTS } from "./planted/planted-headcounts.ts";

/** What a headcount of that kind offers beyond `open`. What does not happen at once, never happens there. */
function suiteOf(Kind: typeof HonestHeadcount, patienceMs: number): HeadcountSuite {
  return {
    patienceMs,
    second: (headcount, setup) => {
      if (headcount instanceof HonestHeadcount) return new Kind(setup, headcount.pool);
      throw new TypeError("a headcount of these tests was expected");
    },
    restore: (snapshot, setup) => {
      const members: Member[] = [];
      for (const row of snapshot["rows"] as readonly JsonObject[]) {
        const parent = members.find(({ id }) => id === row["parent"]);
        const member = memberOf(row["id"] as AgentId, row["priority"] as Priority, parent);
        members.push({ ...member, state: row["state"] as Member["state"], place: Number(row["place"]) });
      }
      return new Kind(setup, {
        members,
        total: Number(snapshot["total"]),
        places: Number(snapshot["places"]),
      });
    },
  };
}

/** Answers later, as one does that asks another process. */
class FarHeadcount extends HonestHeadcount {
  override async isPaused(id: AgentId) {
    await later();
    return super.isPaused(id);
  }
  override async release(...args: Parameters<HonestHeadcount["release"]>) {
    await later();
    return super.release(...args);
  }
  override async reprioritize(id: AgentId, priority: Priority) {
    await later();
    return super.reprioritize(id, priority);
  }
  protected override tell(member: Member) {
    const tells = member.tell.splice(0);
    void later().then(() => tells.forEach((tell) => tell()));
  }
}

function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const open =
  (Kind: typeof HonestHeadcount) =>
  (setup: HeadcountSetup): Headcount =>
    new Kind(setup);

describeHeadcount("that is honest", open(HonestHeadcount), suiteOf(HonestHeadcount, 5_000));
describeHeadcount("that is far away", open(FarHeadcount), suiteOf(FarHeadcount, 5_000));
describeHeadcount("without priorityOf", (setup) =>
  Object.assign(new HonestHeadcount(setup), { priorityOf: undefined }),
);

describe("the suite", () => {
  for (const { says, caughtBy, Broken } of PLANTED_HEADCOUNTS) {
    test(`catches a headcount that ${says}`, { timeout: 60_000 }, async () => {
      const found = headcountCases.filter((each) => each.says.includes(caughtBy));
      expect(found.map((each) => each.says)).not.toEqual([]);
      for (const each of found)
        await expect(assertHeadcountCase(each, open(Broken), suiteOf(Broken, 20))).rejects.toThrow(Error);
    });
  }

  test("closes what it has opened, also after a case that fails", async () => {
    const opened: Headcount[] = [];
    const closed: Headcount[] = [];
    const failing: HeadcountCase = {
      rule: "R14",
      says: "fails",
      async run(stage) {
        await stage.restore(await stage.open({}));
      },
    };
    const openOne = (setup: HeadcountSetup): Headcount => {
      const headcount = new HonestHeadcount(setup);
      opened.push(headcount);
      return headcount;
    };
    const suite: HeadcountSuite = { close: (headcount) => void closed.push(headcount) };
    await expect(assertHeadcountCase(failing, openOne, suite)).rejects.toThrow("the suite has no restore");
    expect(opened).toHaveLength(1);
    expect(closed).toEqual(opened);
  });
});

test("every case has a name of its own, and says which rule it belongs to", () => {
  const names = headcountCases.map(({ rule, says }) => `${rule}: ${says}`);
  expect(new Set(names).size).toBe(names.length);
  expect(headcountCases.filter(({ rule }) => !/^[A-Z]\d+$/.test(rule))).toEqual([]);
});
