import { describe, expect, test } from "vitest";
import { type Agent, type ModelRequest, RunId, textOf } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { cutJournal } from "../src/cut-journal.ts";
import { agent, counted, done, governed, handOver, hands, model } from "../src/leading.ts";

describe("R24: what is said to a lead while it works", () => {
  test("is heard before it completes, and whoever asked gets its answer", async () => {
    const reached = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const helper = agent("helper", async () => {
      reached.resolve();
      await go.promise;
      return done("helped");
    });
    const lead = new OrchestratorAgent({
      name: "lead",
      model: scriptedModel(({ messages }: ModelRequest) => {
        const last = messages.at(-1);
        if (last?.role === "user" && textOf(last).includes("question")) return "the answer is 7";
        return last?.role === "tool" ? "done" : hands(["helper", "x"]);
      }),
      subAgents: [{ agent: helper }],
    });
    const boss = agent("boss", async (ctx) => {
      const handle = await ctx.spawn(lead, { input: "go" });
      await reached.promise;
      const reply = ctx.ask(handle, "a question");
      go.resolve();
      const heard = await reply;
      const outcome = await ctx.join(handle);
      return done(`${String(heard)}; ${outcome.status}`);
    });
    const result = await governed({ journal: new MemoryJournal() }).run(boss, "go").result;
    expect(result.output).toBe("the answer is 7; completed");
  });

  test("is heard again by a lead that is resumed after a crash at any entry, and answered the same", async () => {
    const reached = { child: Promise.withResolvers<void>(), go: Promise.withResolvers<void>() };
    const team = (isLive: boolean): Agent => {
      const helper = agent("helper", async () => {
        reached.child.resolve();
        if (isLive) await reached.go.promise;
        return done("helped");
      });
      const lead = new OrchestratorAgent({
        name: "lead",
        model: model(({ messages }) => {
          const asked = messages.findLast(
            ({ role, content }) => role === "user" && String(content).includes("question"),
          );
          if (asked !== undefined) return `an answer to ${textOf(asked)}`;
          return messages.at(-1)?.role === "tool" ? "done" : hands(["helper", "x"]);
        }),
        subAgents: [{ agent: helper }],
      });
      return agent("boss", async (ctx) => {
        const handle = await ctx.spawn(lead, { input: "go" });
        if (isLive) await reached.child.promise;
        const reply = ctx.ask(handle, "a question");
        if (isLive) reached.go.resolve();
        const heard = await reply.catch(() => "silence");
        const outcome = await ctx.join(handle);
        return done(`${String(heard)}; ${"result" in outcome ? outcome.result.output : outcome.status}`);
      });
    };
    const journal = new MemoryJournal();
    const whole = await governed({ journal }).run(team(true), "go", { runId: "r" }).result;
    expect(whole.output).toBe(
      "an answer to [message from boss] a question; an answer to [message from boss] a question",
    );
    const records = journal.load(RunId("r"));
    const read = records.findIndex(({ key }) => key.startsWith("inbox#")) + 1;
    expect(read).toBeGreaterThan(1);
    for (let count = read; count <= records.length; count++) {
      const boss = team(false);
      const resumed = governed({ journal: cutJournal("r", records.slice(0, count)), agents: [boss] });
      const { status, output } = await resumed.resume("r").result;
      expect({ count, status, output }).toEqual({ count, status: "completed", output: whole.output });
    }
  });

  test("nothing is recorded of an inbox that stays empty", async () => {
    const journal = new MemoryJournal();
    const { helper } = counted();
    await handOver(hands(["helper", "x"]), [{ agent: helper }], {}, { runId: "r" }, governed({ journal }));
    expect(journal.load(RunId("r")).filter(({ key }) => key.startsWith("inbox"))).toEqual([]);
  });
});

describe("R16, R24: who was late and left to work", () => {
  const RUN = "r";
  function team(): Agent {
    const slow = agent("slow", async (ctx) => {
      await ctx.sleepUntil(60_500);
      return done(String(await ctx.waitFor("go")));
    });
    return new OrchestratorAgent({
      name: "lead",
      model: model(({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === "tool") return "nothing yet";
        return textOf(last ?? { content: "" }).startsWith("[late answer from slow")
          ? `now: ${textOf(last ?? { content: "" })}`
          : hands(["slow", "x"]);
      }),
      subAgents: [{ agent: slow, askTimeoutS: 60, onTimeout: "leave" }],
    });
  }

  test("is joined before the lead ends, also by a lead that was resumed after a crash at any entry", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock({ now: 0 });
    const runtime = governed({ journal, clock });
    const handle = runtime.run(team(), "go", { runId: RUN });
    await clock.advance(60_000);
    await runtime.deliver(RUN, "go", "the answer");
    await clock.advance(1_000);
    const whole = await handle.result;
    expect(whole).toMatchObject({ status: "completed", output: "now: [late answer from slow] the answer" });
    const records = journal.load(RunId(RUN));
    const late = records.findIndex(({ key }) => key.startsWith("late:")) + 1;
    expect(late).toBeGreaterThan(1);
    for (let count = late; count <= records.length; count++) {
      const lead = team();
      const time = virtualClock({ now: 100_000 });
      const resumed = governed({
        journal: cutJournal(RUN, records.slice(0, count)),
        agents: [lead],
        clock: time,
      });
      const going = resumed.resume(RUN);
      await resumed.deliver(RUN, "go", "the answer");
      await time.advance(1_000);
      const { status, output } = await going.result;
      expect({ count, status, output }).toEqual({ count, status: "completed", output: whole.output });
    }
  });

  test("is not dismissed when everything is suspended: it goes on with its lead in another process", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock({ now: 0 });
    const first = governed({ journal, clock });
    const handle = first.run(team(), "go", { runId: RUN });
    await clock.advance(60_000);
    const closed = first.close();
    await clock.advance(1_000);
    await closed;
    expect((await handle.result).status).toBe("suspended");
    const lead = team();
    const second = governed({ journal, agents: [lead], clock });
    const going = second.resume(RUN);
    await second.deliver(RUN, "go", "the answer");
    await clock.advance(1_000);
    expect(await going.result).toMatchObject({
      status: "completed",
      output: "now: [late answer from slow] the answer",
    });
  });

  test("and is cancelled with a lead that is cut off: its seat is free and nothing is left running", async () => {
    const clock = virtualClock({ now: 0 });
    let stopped = 0;
    const slow = agent("slow", async (_, inbox) => {
      try {
        return done(String((await inbox.receive()).content));
      } finally {
        stopped++;
      }
    });
    const running = handOver(
      hands(["slow", "x"]),
      [{ agent: slow, askTimeoutS: 60, onTimeout: "leave" }],
      { maxSteps: 1 },
      {},
      governed({ clock }),
    );
    await clock.advance(61_000);
    expect((await running).result).toMatchObject({ status: "partial", stopReason: "steps" });
    expect(stopped).toBe(1);
    expect(clock.pending).toBe(0);
  });
});
