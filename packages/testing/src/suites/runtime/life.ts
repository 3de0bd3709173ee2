import { expect } from "vitest";
import { type RunEvent, type StandardSchema, textOf } from "@ravi/kernel";
import { expectRefused } from "../case.ts";
import { scriptedModel } from "../../scripted-model.ts";
import { agent, done, hires, type RuntimeCase, say, until, untilWaiting, word } from "./stage.ts";

export const lifeCases: readonly RuntimeCase[] = [
  {
    rule: "R12",
    says: "a run gives its output, its structured result and what it used",
    async run({ create }) {
      const model = scriptedModel(["hello"]);
      const greeter = agent("greeter", async (ctx, inbox) => {
        await ctx.llm(model, say(inbox.input));
        return { ...done(`${ctx.agentId} ${inbox.input}`), structured: { polite: true } };
      });
      const runtime = await create({ agents: [greeter] });
      const handle = runtime.run(greeter, "hi", { runId: "life-1" });
      const result = await handle.result;
      expect(result).toMatchObject({ runId: "life-1", status: "completed", output: "greeter hi" });
      expect(result).toMatchObject({ structured: { polite: true }, stopReason: "done" });
      expect(result.usage.outputTokens).toBeGreaterThan(0);
      expect(handle.status).toBe("completed");
    },
  },
  {
    rule: "R13",
    says: "an agent whose code throws has failed, and the result says why",
    async run({ create }) {
      const broken = agent("broken", async () => {
        throw new TypeError("x is not a function");
      });
      const runtime = await create({ agents: [broken] });
      const { status, error } = await runtime.run(broken, "").result;
      expect(status).toBe("failed");
      expect(error?.message).toContain("x is not a function");
    },
  },
  {
    rule: "R12",
    says: "what was wrong with an answer of the wrong shape is in the result of its run, now and when asked again, and of its hire",
    async run({ create }) {
      const result = { status: "partial", output: "{}", stopReason: "invalid" } as const;
      const vague = agent("vague", async () => ({ ...result, problem: "sum: expected a number" }));
      const lead = agent("lead", async (ctx) => {
        const outcome = await ctx.hire({ agent: vague, input: "" });
        // Recorded, so that a replay has to give the same.
        await ctx.waitFor("on");
        return done("result" in outcome ? String(outcome.result.problem) : outcome.status);
      });
      const runtime = await create({ agents: [vague, lead] });
      const said = { ...result, problem: "sum: expected a number" };
      expect(await runtime.run(vague, "", { runId: "life-9" }).result).toMatchObject(said);
      expect(await runtime.resume("life-9").result).toMatchObject(said);
      const handle = runtime.run(lead, "", { runId: "life-10" });
      await untilWaiting(handle);
      await runtime.close();
      const next = await create({ agents: [vague, lead] });
      const resumed = next.resume("life-10");
      await next.deliver("life-10", "on", true);
      expect((await resumed.result).output).toBe("sum: expected a number");
    },
  },
  {
    rule: "R12",
    says: "a structured result has the form that its schema gives it, also if it comes from the record: of a run, a hire and a spawned child",
    async run({ create }) {
      const dated = agent(
        "dated",
        async () => ({ ...done('{"on":"2026-01-02"}'), structured: { on: new Date("2026-01-02") } }),
        { output: DATED },
      );
      const lead = agent("lead", async (ctx) => {
        const hired = await ctx.hire({ agent: dated, input: "" });
        const joined = await ctx.join(await ctx.spawn(dated, { input: "" }));
        await ctx.waitFor("on");
        return done([hired, joined].map((each) => yearIn("result" in each && each.result)).join());
      });
      const runtime = await create({ agents: [dated, lead] });
      expect(yearIn(await runtime.run(dated, "", { runId: "life-11" }).result)).toBe(2026);
      expect(yearIn(await runtime.resume("life-11").result)).toBe(2026);
      const handle = runtime.run(lead, "", { runId: "life-12" });
      await untilWaiting(handle);
      await runtime.close();
      const next = await create({ agents: [dated, lead] });
      const resumed = next.resume("life-12");
      await next.deliver("life-12", "on", true);
      expect((await resumed.result).output).toBe("2026,2026");
    },
  },
  {
    rule: "R12",
    says: "an agent that says so is partial, with its reason",
    async run({ create }) {
      const tired = agent("tired", async () => ({ status: "partial", output: "half", stopReason: "steps" }));
      const runtime = await create({ agents: [tired] });
      const result = await runtime.run(tired, "").result;
      expect(result).toMatchObject({ status: "partial", output: "half", stopReason: "steps" });
    },
  },
  {
    rule: "R24",
    says: "a run that is over is listed, gives its result again without running, and can be deleted",
    async run({ create }) {
      let goes = 0;
      const structured = { deep: [1, null] };
      const once = agent("once", async () => ({ ...done(`go ${++goes}`), structured }), { version: "3" });
      const runtime = await create({ agents: [once] });
      const whose = { sessionId: "chat", tenantId: "acme", userId: "ada" };
      await runtime.run(once, "", { runId: "life-2", ...whose }).result;
      const again = await runtime.resume("life-2").result;
      expect([again.status, again.output, goes]).toEqual(["completed", "go 1", 1]);
      expect(again).toMatchObject({ structured, stopReason: "done" });
      const listed = (await runtime.list()).filter(({ runId }) => runId === "life-2");
      expect(listed).toMatchObject([{ agent: "once@3", status: "completed", ...whose }]);
      await runtime.delete("life-2");
      expect((await runtime.list()).some(({ runId }) => runId === "life-2")).toBe(false);
      await expect(async () => runtime.resume("life-2").result).rejects.toMatchObject({
        code: "INVALID_VALUE",
      });
    },
  },
  {
    rule: "R24",
    needs: "prune",
    says: "a run that has ended is pruned when it is old enough, and one that has not ended never is",
    async run({ create }) {
      const once = agent("once", async () => done("over"));
      const patient = agent("patient", async (ctx) => done(word(await ctx.waitFor("go"))));
      const runtime = await create({ agents: [once, patient] });
      await runtime.run(once, "", { runId: "old-1" }).result;
      const waiting = runtime.run(patient, "", { runId: "old-2" });
      await untilWaiting(waiting);
      const ours = (ids: readonly string[] = []): string[] => ids.filter((id) => id.startsWith("old-"));
      const isListed = async (): Promise<string[]> =>
        ours((await runtime.list()).map(({ runId }) => runId)).toSorted();
      expect([await isListed(), ours(await runtime.prune?.({ olderThanMs: 3_600_000 }))]).toEqual([
        ["old-1", "old-2"],
        [],
      ]);
      const { updatedAt = 0 } = (await runtime.list()).find(({ runId }) => runId === "old-1") ?? {};
      await until(() => Date.now() > updatedAt);
      expect(ours(await runtime.prune?.({ olderThanMs: 0 }))).toEqual(["old-1"]);
      expect(await isListed()).toEqual(["old-2"]);
      await runtime.deliver("old-2", "go", "gone");
      expect((await waiting.result).output).toBe("gone");
    },
  },
  {
    rule: "R24",
    needs: "checks",
    says: "a run under an id that is taken does not start, and leaves the other one as it is",
    async run({ create }) {
      const inputs: string[] = [];
      const waiter = agent("waiter", async (ctx, inbox) => {
        inputs.push(inbox.input);
        return done(word(await ctx.waitFor("word")));
      });
      const runtime = await create({ agents: [waiter] });
      const other = await create({ agents: [waiter] });
      const handle = runtime.run(waiter, "first", { runId: "life-6" });
      await untilWaiting(handle);
      for (const one of [runtime, other])
        await expect(async () => one.run(waiter, "second", { runId: "life-6" }).result).rejects.toThrow(
          Error,
        );
      await runtime.deliver("life-6", "word", "on");
      expect((await handle.result).output).toBe("on");
      await expect(async () => other.run(waiter, "third", { runId: "life-6" }).result).rejects.toThrow(Error);
      expect(inputs).toEqual(["first"]);
    },
  },
  {
    rule: "R11",
    says: "events are numbered without a gap, the same for all observers, and one who breaks off changes nothing",
    async run({ create }) {
      const teller = agent("teller", async (ctx) => {
        for (let n = 0; n < 5; n++) {
          ctx.emit({ type: "progress", name: "step", data: { n } });
          await ctx.now();
        }
        return done("told");
      });
      const runtime = await create({ agents: [teller] });
      const handle = runtime.run(teller, "");
      const all = async (): Promise<RunEvent[]> => Array.fromAsync(handle.events());
      const first = async (): Promise<RunEvent | undefined> => {
        for await (const event of handle.events()) return event;
        return undefined;
      };
      const [one, two, left] = await Promise.all([all(), all(), first()]);
      expect((await handle.result).output).toBe("told");
      expect(one).toEqual(two);
      expect(one[0]).toEqual(left);
      expect(one.map(({ seq }) => seq)).toEqual(one.map((_, index) => index + 1));
      const steps = one.flatMap(({ event }) => (event.type === "progress" ? [event.data] : []));
      expect(steps).toEqual([0, 1, 2, 3, 4].map((n) => ({ n })));
    },
  },
  {
    rule: "R9",
    says: "a run that is cancelled by its handle ends, with the reason, and is not resumed",
    async run({ create }) {
      let waits = false;
      const patient = agent("patient", async (ctx) => {
        waits = true;
        await ctx.waitFor("never");
        return done("");
      });
      const runtime = await create({ agents: [patient] });
      const handle = runtime.run(patient, "", { runId: "life-3" });
      await until(() => waits);
      handle.cancel("changed my mind");
      const result = await handle.result;
      expect(result.status).toBe("cancelled");
      expect(result.error?.message).toContain("changed my mind");
      expect((await runtime.resume("life-3").result).status).toBe("cancelled");
    },
  },
  {
    rule: "R9",
    says: "a run is cancelled by its id, with everybody in it, also from another runtime",
    async run({ create }) {
      const started: string[] = [];
      const child = agent("child", async (ctx) => {
        started.push(ctx.agentId);
        await ctx.waitFor("never");
        return done("");
      });
      const lead = agent("lead", async (ctx) => {
        await ctx.batch(hires(child, ["", ""]));
        return done("");
      });
      const runtime = await create({ agents: [lead, child] });
      const other = await create({ agents: [lead, child] });
      const handle = runtime.run(lead, "", { runId: "life-4" });
      await until(() => started.length === 2);
      await other.cancel("life-4", "stop it all");
      const result = await handle.result;
      expect([result.status, result.error?.message]).toEqual([
        "cancelled",
        expect.stringContaining("stop it all"),
      ]);
    },
  },
  {
    rule: "R9",
    needs: "checks",
    says: "whoever cancels a run that does not exist is told so",
    async run({ create }) {
      const runtime = await create({ agents: [] });
      await expectRefused({ code: "INVALID_VALUE", field: "runId" }, () =>
        runtime.cancel("life-none", "stop"),
      );
    },
  },
  {
    rule: "R24",
    says: "close with drain waits for what is under way",
    async run({ create }) {
      const asked = Promise.withResolvers<void>();
      const answered = Promise.withResolvers<string>();
      const slow = scriptedModel(() => {
        asked.resolve();
        return answered.promise;
      });
      const asker = agent("asker", async (ctx) => done(textOf((await ctx.llm(slow, say("slowly"))).message)));
      const runtime = await create({ agents: [asker] });
      const { result } = runtime.run(asker, "", { runId: "life-13" });
      await asked.promise;
      const closed = runtime.close({ drain: true });
      answered.resolve("at last");
      await closed;
      expect(await result).toMatchObject({ status: "completed", output: "at last" });
    },
  },
  {
    rule: "R24",
    says: "close leaves nothing running: what is under way is suspended, and goes on elsewhere",
    async run({ create }) {
      const model = scriptedModel(() => "ok");
      const waiter = agent("waiter", async (ctx) => {
        await ctx.llm(model, say("before"));
        return done(word(await ctx.waitFor("word")));
      });
      const first = await create({ agents: [waiter] });
      const handle = first.run(waiter, "", { runId: "life-5" });
      await untilWaiting(handle);
      await first.close();
      expect((await handle.result).status).toBe("suspended");
      const second = await create({ agents: [waiter] });
      await second.deliver("life-5", "word", "on");
      expect(await second.resume("life-5").result).toMatchObject({ status: "completed", output: "on" });
      expect(model.calls).toHaveLength(1);
    },
  },
];

/** Reads a day, as models write it, as a date. */
const DATED: StandardSchema<unknown, { on: Date }> = {
  "~standard": {
    version: 1,
    vendor: "suite",
    validate: (value) => ({ value: { on: new Date((value as { on: string }).on) } }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

/** Undefined if the result has no date, but perhaps its text. */
function yearIn(result: { readonly structured?: unknown } | false): number | undefined {
  const { on } = (result && (result.structured as { on: unknown })) || { on: undefined };
  return on instanceof Date ? on.getUTCFullYear() : undefined;
}
