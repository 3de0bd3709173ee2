import { setImmediate } from "node:timers/promises";
import { type Agent, AgentId, type Logger, type RunEvent } from "@ravi/kernel";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { OVER, played } from "./played.ts";

const agent: Agent = {
  id: AgentId("a"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};

function event(seq: number): unknown {
  const told = { type: "progress", name: `n${seq}`, data: null };
  return { seq, at: 0, agentId: "a", execId: "r", event: told };
}

/** A topic that has one event more with each look, and is closed with the last one. */
function growing(count: number): (asked: { readonly from: number }) => unknown {
  let looks = 0;
  return ({ from }) => {
    const there = Math.min(count, looks++);
    const events = Array.from({ length: there }, (_, n) => event(n + 1)).slice(from - 1);
    return { events, isClosed: there === count };
  };
}

const STARTED = { start: { isNew: true }, standings: OVER, resume: {}, query: { rows: [] } };

type Act = Parameters<typeof played>[1];

function throwSlip(): never {
  throw new Error("a slip");
}

function logged(): { readonly logger: Logger; readonly said: unknown[] } {
  const said: unknown[] = [];
  const quiet = (): void => {};
  const error = (...words: unknown[]): void => void said.push(words);
  return { said, logger: { debug: quiet, info: quiet, warn: quiet, error } };
}

describe("onEvent", () => {
  test.each(["run", "resume"] as const)(
    "J3: that of %s is called with each event once, in order, and the result comes after the last one",
    async (how) => {
      await played({ ...STARTED, read: growing(4) }, async (runtime) => {
        const heard: number[] = [];
        const onEvent = ({ seq }: RunEvent): void => void heard.push(seq);
        const handle = how === "run" ? runtime.run(agent, "", { onEvent }) : runtime.resume("r", { onEvent });
        expect(await handle.result).toMatchObject({ status: "completed", output: "done" });
        expect(heard).toEqual([1, 2, 3, 4]);
        expect((await Array.fromAsync(handle.events())).map(({ seq }) => seq)).toEqual(heard);
      });
    },
  );

  const slips: readonly (readonly [string, (event: RunEvent) => void])[] = [
    ["throws", () => throwSlip()],
    ["rejects with", async () => throwSlip()],
  ];
  test.each(slips)(
    "J3: an error that it %s does not change the run: it is logged, and the next event comes",
    async (_how, slip) => {
      const { logger, said } = logged();
      const heard: number[] = [];
      const onEvent = (each: RunEvent): void => {
        heard.push(each.seq);
        if (each.seq === 2) return slip(each);
      };
      const act: Act = async (runtime) => {
        expect(await runtime.run(agent, "", { onEvent }).result).toMatchObject({ output: "done" });
      };
      await played({ ...STARTED, read: growing(3) }, act, { logger });
      expect(heard).toEqual([1, 2, 3]);
      const fields = { execId: "r", error: "a slip", type: "progress" };
      expect(said).toEqual([["onEvent threw an error; the run continues", fields]]);
    },
  );

  test("J3: it is not told of another run that has the id already", async () => {
    const answers = {
      start: { isNew: false },
      standings: OVER,
      read: { events: [event(1)], isClosed: true },
    };
    await played(answers, async (runtime, asked) => {
      const heard: RunEvent[] = [];
      const onEvent = (each: RunEvent): void => void heard.push(each);
      const { result } = runtime.run(agent, "", { runId: "taken", onEvent });
      await expect(result).rejects.toMatchObject({ code: "INVALID_VALUE" });
      expect([heard, asked.has("read")]).toEqual([[], false]);
    });
  });

  test("J3: events that cannot be read are logged; the result is not changed by it", async () => {
    const { logger, said } = logged();
    const answers = { ...STARTED, read: new Error("no topic today") };
    const act: Act = async (runtime) => {
      const { result } = runtime.run(agent, "", { runId: "r", onEvent: () => {} });
      expect(await result).toMatchObject({ output: "done" });
    };
    await played(answers, act, { logger });
    expect(said).toEqual([
      [
        "the events of the run could not be read; onEvent is not called any more, and the run continues",
        { runId: "r", error: expect.stringContaining("no topic today") },
      ],
    ]);
  });

  test("J3: events that are held up by a deployment that is gone do not hold up the result for ever", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    let isFree = false;
    const looks: unknown[] = [];
    // The second look is one for the events, after the run's end.
    const standings = (): unknown => {
      looks.push(OVER);
      return OVER;
    };
    const read = (): unknown => ({ events: [], isClosed: isFree });
    const blocking = { id: "inv_1", status: "paused", target_service_key: "r" };
    const query = { rows: [blocking] };
    const move = (): void => void (isFree = true);
    const answers = { ...STARTED, standings, read, query, "resume?deployment=latest": move };
    await played(answers, async (runtime) => {
      const { result } = runtime.run(agent, "", { runId: "r", onEvent: () => {} });
      while (looks.length < 3) await setImmediate();
      expect(isFree).toBe(false);
      vi.advanceTimersByTime(2_000);
      expect(await result).toMatchObject({ output: "done" });
    });
  });

  test("J3: it is not called any more when the client is closed, and the result is there at once", async () => {
    const running = { known: true, version: 1, status: "running" };
    const heard: number[] = [];
    const read = ({ from }: { readonly from: number }): unknown => ({
      events: [event(from)],
      isClosed: false,
    });
    await played({ ...STARTED, standings: running, read }, async (runtime) => {
      const onEvent = ({ seq }: RunEvent): void => void heard.push(seq);
      const { result } = runtime.run(agent, "", { onEvent });
      while (heard.length < 3) await setImmediate();
      await runtime.close();
      expect((await result).status).toBe("suspended");
      const count = heard.length;
      await setImmediate();
      expect(heard).toEqual(Array.from({ length: count }, (_, n) => n + 1));
    });
  });

  test("J3: something else than a function is refused by name", async () => {
    await played({}, async (runtime, asked) => {
      const onEvent = "tell me" as never;
      expect(() => runtime.run(agent, "", { onEvent })).toThrow(/^run options\.onEvent is "tell me"/);
      expect(() => runtime.resume("r", { onEvent })).toThrow(/^resume options\.onEvent is "tell me"/);
      expect(asked.size).toBe(0);
    });
  });
});
