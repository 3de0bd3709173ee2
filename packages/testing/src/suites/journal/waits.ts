import type { Journal, JsonObject, RunId } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt } from "../case.ts";
import { claimed, type JournalCase, note, R1, R2, signal } from "./stage.ts";

/** A wait as the runtime notes it. */
function wait(kind: string, name: string, more: JsonObject = {}): JsonObject {
  return { kind, name, agentId: "lead", execId: "run-1", since: 5, ...more };
}

const ASKED = wait("approval", "ok", { question: { tool: "pay", arguments: { usd: [4980, "ü"] } } });

async function waitingFor(journal: Journal, run: RunId): Promise<readonly unknown[] | undefined> {
  return (await journal.list()).find(({ runId }) => runId === run)?.waitingFor;
}

/** The body of a note on waits that have begun. Each has the number of its place in its key. */
function begun(waits: readonly JsonObject[], over: readonly string[] = [], heard = 0): JsonObject {
  return { waits, keys: waits.map((_, at) => `wait#${at}`), over, heard };
}

/** A journal with a run that has noted these waits. `say` notes something more. */
async function waiting(journal: Journal, waits: readonly JsonObject[], heard = 0) {
  const epoch = await claimed(journal, R1);
  let notes = 0;
  const say = async (key: string, body: JsonObject): Promise<void> =>
    attempt(() => journal.append(R1, epoch, [note(R1, `${key}#${++notes}`, 10, body)]));
  await say("run:start", { agent: "lead@1" });
  await say("run:waits", begun(waits, [], heard));
  return { epoch, say };
}

export const waitCases: readonly JournalCase[] = [
  {
    rule: "R24",
    needs: "waits",
    says: "list says what a run waits for, as it was noted last, until its status is another than suspended",
    async run({ journal }) {
      const timer = wait("timer", "sleep:until#1", { until: 90 });
      const { epoch, say } = await waiting(journal, [ASKED, timer]);
      expect(await waitingFor(journal, R1)).toEqual([ASKED, timer]);
      const over = ["run-1:wait#0"];
      const child = { ...note(R1, "run:waits", 10, begun([], over)), exec: "run-1/hire:a#1" };
      await journal.append(R1, epoch, [child as never]);
      // Bodies of another shape.
      for (const odd of [{ waits: "ok" }, { keys: null }, { over: null }, { heard: "0" }, { waits: [null] }])
        await say("run:waits", { ...begun([timer], over), ...odd });
      for (const field of ["waits", "keys", "over", "heard"]) {
        const { [field]: _field, ...rest } = begun([timer], over);
        await say("run:waits", rest);
      }
      await say("run:status", { status: "suspended" });
      await journal.release(R1, epoch);
      expect(await waitingFor(journal, R1)).toEqual([ASKED, timer]);
      const next = await claimed(journal, R1, "two");
      const added = (key: string, body: JsonObject): Promise<void> =>
        attempt(() => journal.append(R1, next, [note(R1, key, 20, body)]));
      await added("run:waits#20", begun([], over));
      expect(await waitingFor(journal, R1)).toEqual([timer]);
      await added("run:status#21", { status: "running" });
      expect(await waitingFor(journal, R1)).toBeUndefined();
      await added("run:waits#22", begun([ASKED]));
      expect(await waitingFor(journal, R1)).toEqual([ASKED]);
      await added("run:waits#23", begun([], over));
      expect(await waitingFor(journal, R1)).toBeUndefined();
      await added("run:waits#24", begun([ASKED]));
      await added("run:status#25", { status: "completed" });
      await added("run:waits#26", begun([ASKED]));
      expect(await waitingFor(journal, R1)).toBeUndefined();
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "a note changes the list: what is over goes, what has begun comes behind the rest, what is noted again keeps its place, and heard counts from then on",
    async run({ journal }) {
      const [one, two] = [wait("signal", "word"), wait("signal", "word", { execId: "run-1/hire:a#1" })];
      const nap = wait("timer", "nap", { until: 90 });
      const { epoch, say } = await waiting(journal, []);
      await say("run:waits", { waits: [one, nap], keys: ["wait#1", "sleep#1"], over: [], heard: 0 });
      await say("run:waits", { waits: [two], keys: ["wait#1"], over: [], heard: 0 });
      expect(await waitingFor(journal, R1)).toEqual([one, nap, two]);
      const later = wait("timer", "nap", { until: 95 });
      await say("run:waits", { waits: [later], keys: ["sleep#1"], over: [], heard: 0 });
      expect(await waitingFor(journal, R1)).toEqual([one, later, two]);
      await say("run:waits", { waits: [nap, one], keys: ["sleep#1", "wait#1"], over: [], heard: 0 });
      expect(await waitingFor(journal, R1)).toEqual([one, nap, two]);
      await journal.post(R1, signal("first", { name: "word" }));
      expect(await waitingFor(journal, R1)).toEqual([nap, two]);
      await say("run:waits", { waits: [ASKED], keys: ["ask#1"], over: ["run-1:wait#1"], heard: 1 });
      expect(await waitingFor(journal, R1)).toEqual([nap, two, ASKED]);
      const again = wait("signal", "more");
      await say("run:waits", {
        waits: [again],
        keys: ["ask#1"],
        over: ["run-1:ask#1", "run-1:unknown", "run-1:sleep#1"],
        heard: 1,
      });
      expect(await waitingFor(journal, R1)).toEqual([two, again]);
      await say("run:status", { status: "suspended" });
      await journal.release(R1, epoch);
      expect(await waitingFor(journal, R1)).toEqual([two, again]);
      const next = await claimed(journal, R1, "two");
      const noted = (n: number, key: string, body: JsonObject) => note(R1, `${key}#${n}`, 20, body);
      await attempt(() =>
        journal.append(R1, next, [
          noted(20, "run:status", { status: "running" }),
          noted(21, "run:waits", { waits: [one, two], keys: ["wait#2", "wait#3"], over: [], heard: 1 }),
          noted(22, "run:waits", { waits: [], keys: [], over: ["run-1:wait#2"], heard: 1 }),
        ]),
      );
      expect(await waitingFor(journal, R1)).toEqual([two]);
      const last = { waits: [], keys: [], over: ["run-1/hire:a#1:wait#3"], heard: 1 };
      await attempt(() => journal.append(R1, next, [noted(23, "run:waits", last)]));
      expect(await waitingFor(journal, R1)).toBeUndefined();
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "a wait that somebody has answered is no longer listed: each signal answers the first of its name, and a cancel all",
    async run({ journal }) {
      for (const id of ["old-1", "old-2"]) await journal.post(R1, signal(id, { name: "word" }));
      const [one, two] = [wait("signal", "word"), wait("signal", "word", { execId: "run-1/hire:a#1" })];
      await waiting(journal, [one, two, ASKED, wait("timer", "nap")], 2);
      await journal.post(R2, signal("other-run", { name: "word" }));
      await journal.post(R1, signal("message", { kind: "message", name: "word" }));
      await journal.post(R1, signal("a-timer", { name: "nap" }));
      expect(await waitingFor(journal, R1)).toHaveLength(4);
      for (let twice = 0; twice < 2; twice++) await journal.post(R1, signal("new-1", { name: "word" }));
      expect(await waitingFor(journal, R1)).toEqual([two, ASKED, wait("timer", "nap")]);
      await journal.post(R1, signal("yes", { name: "ok" }));
      await journal.post(R1, signal("new-2", { name: "word" }));
      expect(await waitingFor(journal, R1)).toEqual([wait("timer", "nap")]);
      await journal.post(R2, signal("stop", { kind: "cancel", name: "cancel" }));
      expect(await waitingFor(journal, R1)).toHaveLength(1);
      await journal.post(R1, signal("stop", { kind: "cancel", name: "cancel" }));
      expect(await waitingFor(journal, R1)).toBeUndefined();
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "what list returns of a wait may be changed, and a deleted run leaves none to the next of its id",
    async run({ journal }) {
      const noted = structuredClone(ASKED);
      await waiting(journal, [noted]);
      Object.assign(noted, { name: "changed" });
      const [listed] = (await waitingFor(journal, R1)) ?? [];
      expect(listed).toEqual(ASKED);
      Object.assign(listed as object, { name: "changed" });
      expect(await waitingFor(journal, R1)).toEqual([ASKED]);
      await journal.delete(R1);
      await claimed(journal, R1, "two");
      expect(await waitingFor(journal, R1)).toBeUndefined();
    },
  },
];
