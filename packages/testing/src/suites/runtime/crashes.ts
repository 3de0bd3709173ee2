import { expect } from "vitest";
import { isRaviError, type JsonValue, ProviderError, textOf } from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import {
  agent,
  call,
  done,
  hangingOnce,
  hires,
  outputOf,
  refuseWithoutEnd,
  type RuntimeCase,
  type RuntimeStage,
  say,
  tool,
  until,
  untilWaiting,
  word,
} from "./stage.ts";

type Decision = "retry" | "skip" | "fail";

/** Crashes a run while a tool that must not be repeated is in flight, resumes it with a decision, and returns the outcome. */
async function decided(stage: RuntimeStage, runId: string, decision: Decision): Promise<string> {
  const { tool: pay, calls } = hangingOnce("pay", false);
  const payer = agent("payer", async (ctx) => {
    const result = await ctx.tool(call("pay"), pay);
    return done(`${result.isError ? "error" : textOf(result)} after ${calls()}`);
  });
  const first = await stage.create({ agents: [payer] });
  first.run(payer, "", { runId });
  await until(() => calls() === 1);
  await stage.crash(first);
  const second = await stage.create({ agents: [payer] });
  const suspended = await second.resume(runId).result;
  expect(suspended).toMatchObject({ status: "suspended", error: { code: "NEEDS_DECISION" } });
  expect(calls()).toBe(1);
  const key = `${runId}:tool:pay#1`;
  expect(suspended.error?.message).toContain("tool:pay#1");
  const result = await second.resume(runId, { decisions: { [key]: decision } }).result;
  // The tool call counts whatever was decided.
  for (const { toolCalls } of result.agents ?? []) expect(toolCalls).toBe(1);
  // Nobody is asked to decide again.
  expect(result.error?.message ?? "").not.toContain("resume with");
  return result.error === undefined ? result.output : `${result.status} ${result.error.code}`;
}

export const crashCases: readonly RuntimeCase[] = [
  {
    rule: "R24",
    says: "a run that died goes on from its record: nothing that was recorded is made or paid again",
    async run({ create, crash }) {
      const model = scriptedModel((request) => `heard ${textOf(request.messages[0] ?? { content: "" })}`);
      const child = agent("child", async (ctx, inbox) => {
        const { message } = await ctx.llm(model, say(inbox.input));
        return done(textOf(message));
      });
      const stamps = new Set<string>();
      const lead = agent("lead", async (ctx) => {
        const stamp = `${await ctx.uuid()} ${await ctx.now()} ${await ctx.random()}`;
        stamps.add(stamp);
        const outcomes = await ctx.batch(hires(child, ["a", "b"]));
        await ctx.llm(model, say("last"));
        const last = word(await ctx.waitFor("word"));
        return done([stamp, ...outcomes.map(outputOf), last].join(" | "));
      });
      const first = await create({ agents: [lead, child] });
      const handle = first.run(lead, "", { runId: "crash-1" });
      await untilWaiting(handle);
      await crash(first);
      const second = await create({ agents: [lead, child] });
      const going = second.resume("crash-1");
      await untilWaiting(going);
      await crash(second);
      const third = await create({ agents: [lead, child] });
      await third.deliver("crash-1", "word", "end");
      const result = await third.resume("crash-1").result;
      expect(result.output).toMatch(/^[-0-9a-f]{36} \d+ 0\.\d+ \| heard a \| heard b \| end$/);
      expect(model.calls).toHaveLength(3);
      expect(stamps.size).toBe(1);
      expect(result.inDoubt ?? []).toEqual([]);
    },
  },
  {
    rule: "R24",
    says: "pictures and files come with the input, to whom they were given, also after a crash",
    async run({ create, crash }) {
      const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
      const paper = { type: "file", url: "https://example.com/a.pdf", mediaType: "application/pdf" } as const;
      const seen: unknown[] = [];
      const child = agent("child", async (ctx, inbox) => {
        seen.push([ctx.agentId, inbox.attachments]);
        return done(String(inbox.attachments?.length ?? 0));
      });
      const lead = agent("lead", async (ctx, inbox) => {
        const before = await ctx.batch([
          { kind: "hire", agent: child, input: "", attachments: [paper] },
          { kind: "hire", agent: child, input: "" },
        ]);
        await ctx.waitFor("on");
        const { attachments } = inbox;
        const after = await ctx.join(await ctx.spawn(child, { input: "", attachments }));
        return done([...before, after].map(outputOf).join(" "));
      });
      const setup = { agents: [lead, child] };
      const first = await create(setup);
      await untilWaiting(first.run(lead, "", { runId: "crash-14", attachments: [picture, paper] }));
      await crash(first);
      const second = await create(setup);
      await second.deliver("crash-14", "on", true);
      expect((await second.resume("crash-14").result).output).toBe("1 0 2");
      expect(seen).toContainEqual(["child/1", [paper]]);
      expect(seen).toContainEqual(["child/2", undefined]);
      expect(seen).toContainEqual(["child/3", [picture, paper]]);
    },
  },
  {
    rule: "R24",
    says: "pictures and files come with a question to a child, which still has them after a crash",
    async run({ create, crash }) {
      const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
      const clerk = agent("clerk", async (ctx, inbox) => {
        const seen: JsonValue[] = [];
        for (let n = 0; n < 2; n++) {
          const question = await inbox.receive();
          await ctx.waitFor("on");
          seen.push(question.attachments ?? "none");
          await inbox.reply(question, "seen");
        }
        return done(JSON.stringify(seen));
      });
      const lead = agent("lead", async (ctx) => {
        const handle = await ctx.spawn(clerk, { input: "" });
        await ctx.ask(handle, "What is this?", { attachments: [picture] });
        await ctx.ask(handle, "And?");
        return done(outputOf(await ctx.join(handle)));
      });
      const setup = { agents: [lead, clerk] };
      const first = await create(setup);
      await untilWaiting(first.run(lead, "", { runId: "crash-15" }));
      await crash(first);
      const second = await create(setup);
      await second.deliver("crash-15", "on", true);
      await second.deliver("crash-15", "on", true);
      const { output } = await second.resume("crash-15").result;
      expect(output).toBe(JSON.stringify([[picture], "none"]));
    },
  },
  {
    rule: "R24",
    says: "what had failed before a crash has failed after it, in the same way, and is not made again",
    async run({ create, crash }) {
      let made = 0;
      const model = scriptedModel([
        new ProviderError({ kind: "AUTH", message: "no such key" }),
        "better now",
      ]);
      const look = tool(
        "look",
        () => {
          if (++made === 1) throw new Error("too dark");
          return "better now";
        },
        { idempotent: true },
      );
      const child = agent("child", async () => {
        if (++made === 2) throw new RangeError("no");
        return done("better now");
      });
      const lead = agent("lead", async (ctx) => {
        const seen = await ctx.tool(call("look"), look);
        const hired = await ctx.hire({ agent: child, input: "" });
        const said: unknown = await ctx.llm(model, say("go")).catch((error: unknown) => error);
        const kind = isRaviError(said, "PROVIDER_ERROR") ? said.kind : "an answer";
        await ctx.waitFor("on");
        return done(`${String(seen.isError)} ${textOf(seen)}, ${outputOf(hired)}, ${kind}`);
      });
      const setup = { agents: [lead, child] };
      const first = await create(setup);
      await untilWaiting(first.run(lead, "", { runId: "crash-13" }));
      await crash(first);
      const second = await create(setup);
      await second.deliver("crash-13", "on", true);
      const { output } = await second.resume("crash-13").result;
      expect(output).toMatch(/^true .*too dark, failed, AUTH$/);
      expect([made, model.calls.length]).toEqual([2, 1]);
    },
  },
  {
    rule: "R16",
    says: "what a run has used before a crash is in its result, with what it used after it",
    async run({ create, crash }) {
      const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 3, outputTokens: 2 } }));
      const child = agent("child", async (ctx) => {
        await ctx.llm(model, say("of the child"));
        return done("");
      });
      const lead = agent("lead", async (ctx) => {
        await ctx.llm(model, say("before"));
        await ctx.hire({ agent: child, input: "" });
        await ctx.waitFor("on");
        await ctx.llm(model, say("after"));
        return done("");
      });
      const first = await create({ agents: [lead, child] });
      await untilWaiting(first.run(lead, "", { runId: "crash-10" }));
      await crash(first);
      const second = await create({ agents: [lead, child] });
      await second.deliver("crash-10", "on", true);
      const ended = await second.resume("crash-10").result;
      expect([ended.usage.inputTokens, ended.usage.outputTokens]).toEqual([9, 6]);
      const again = await second.resume("crash-10").result;
      expect([again.usage.inputTokens, again.usage.outputTokens]).toEqual([9, 6]);
    },
  },
  {
    rule: "R24",
    says: "two who go on with one run at the same moment make and pay for nothing twice",
    async run({ create, crash }) {
      const model = scriptedModel(() => "ok");
      const lead = agent("lead", async (ctx) => {
        await ctx.waitFor("on");
        for (let n = 0; n < 5; n++) await ctx.llm(model, say(`${n}`));
        return done("once");
      });
      const first = await create({ agents: [lead] });
      await untilWaiting(first.run(lead, "", { runId: "crash-11" }));
      await crash(first);
      const both = [await create({ agents: [lead] }), await create({ agents: [lead] })];
      await both[0]?.deliver("crash-11", "on", true);
      const ends = await Promise.allSettled(both.map(async (one) => one.resume("crash-11").result));
      // The second one may be refused, or get the same result.
      const outputs = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value.output] : []));
      expect(new Set(outputs)).toEqual(new Set(["once"]));
      expect(model.calls).toHaveLength(5);
    },
  },
  {
    rule: "R24",
    says: "an idempotent call that was in flight is made again, with the same key, and reported",
    async run({ create, crash }) {
      const { tool: look, calls } = hangingOnce("look", true);
      const looker = agent("looker", async (ctx) => done(textOf(await ctx.tool(call("look"), look))));
      const first = await create({ agents: [looker] });
      first.run(looker, "", { runId: "crash-2" });
      await until(() => calls() === 1);
      await crash(first);
      const second = await create({ agents: [looker] });
      const result = await second.resume("crash-2").result;
      expect(result).toMatchObject({ status: "completed", output: "look 2" });
      expect(result.inDoubt).toEqual(["crash-2:tool:look#1"]);
    },
  },
  {
    rule: "R24",
    says: "a tool that must not be repeated is asked about: retry makes it again",
    async run(stage) {
      expect(await decided(stage, "crash-3", "retry")).toBe("pay 2 after 2");
    },
  },
  {
    rule: "R24",
    says: "skip makes it an error that the model sees",
    async run(stage) {
      expect(await decided(stage, "crash-4", "skip")).toBe("error after 1");
    },
  },
  {
    rule: "R24",
    says: "fail raises it",
    async run(stage) {
      expect(await decided(stage, "crash-5", "fail")).toBe("failed NEEDS_DECISION");
    },
  },
  {
    rule: "R16",
    says: "what was spent before a crash counts after it",
    async run({ create, crash, caps }) {
      const model = scriptedModel(() => "ok");
      const spender = agent("spender", async (ctx) => {
        for (let n = 0; n < 3; n++) await ctx.llm(model, say(`${n}`));
        await ctx.waitFor("on");
        for (;;) {
          await ctx.llm(model, say("more"));
          refuseWithoutEnd(model.calls.length);
        }
      });
      const setup = { agents: [spender], ledger: caps.ledger, meter: caps.meter };
      const first = await create(setup);
      const handle = first.run(spender, "", { runId: "crash-6", executionBudget: { maxTurns: 5 } });
      await untilWaiting(handle);
      await crash(first);
      const second = await create(setup);
      await second.deliver("crash-6", "on", true);
      const result = await second.resume("crash-6").result;
      expect(result).toMatchObject({ status: "partial", stopReason: "budget" });
      expect(model.calls.length).toBeLessThanOrEqual(5);
      expect(model.calls.length).toBeGreaterThanOrEqual(4);
    },
  },
  {
    rule: "R14",
    says: "seats that were held before a crash are held after it",
    async run({ create, crash, caps }) {
      let tried = false;
      const waiting = agent("waiting", async (ctx) => done(word(await ctx.waitFor("go"))));
      const lead = agent("lead", async (ctx) => {
        const held = await ctx.spawn(waiting, { input: "" });
        await ctx.waitFor("hire");
        const { status } = await ctx.hire({ agent: waiting, input: "", timeoutS: 1 });
        tried = true;
        return done(`${status} ${outputOf(await ctx.join(held))}`);
      });
      const setup = { agents: [lead, waiting], headcount: caps.headcount };
      const first = await create(setup);
      const handle = first.run(lead, "", { runId: "crash-7", spawnBudget: { maxAgents: 2 } });
      await untilWaiting(handle);
      await crash(first);
      const second = await create(setup);
      const resumed = second.resume("crash-7");
      await second.deliver("crash-7", "hire", 1);
      await until(() => tried);
      await second.deliver("crash-7", "go", "gone");
      expect((await resumed.result).output).toBe("denied gone");
    },
  },
  {
    rule: "R24",
    says: "an agent that takes another way than its record keeps its place: suspended, with nothing paid",
    async run({ create, crash }) {
      const model = scriptedModel(() => "ok");
      const asks = (asked: string) =>
        agent("asks", async (ctx) => {
          await ctx.llm(model, say(asked));
          return done(`${asked} ${word(await ctx.waitFor("on"))}`);
        });
      const first = await create({ agents: [asks("old")] });
      const handle = first.run(asks("old"), "", { runId: "crash-8" });
      await untilWaiting(handle);
      await crash(first);
      const changed = await create({ agents: [asks("new")] });
      expect(await changed.resume("crash-8").result).toMatchObject({
        status: "suspended",
        error: { code: "NON_DETERMINISM" },
      });
      expect(model.calls).toHaveLength(1);
      await changed.close();
      const right = await create({ agents: [asks("old")] });
      await right.deliver("crash-8", "on", "again");
      expect((await right.resume("crash-8").result).output).toBe("old again");
      expect(model.calls).toHaveLength(1);
    },
  },
  {
    rule: "R24",
    says: "an agent that waits for a message where its record has none is suspended, and goes on as it was before",
    async run({ create, crash }) {
      const reads = (waits: boolean) =>
        agent("reads", async (ctx, inbox) => {
          // Caught, so that it goes on as recorded if it is not stopped.
          const received = waits ? inbox.receive().catch(() => undefined) : inbox.take();
          const content = (await received)?.content ?? "nothing";
          return done(`${word(content)} ${word(await ctx.waitFor("on"))}`);
        });
      const first = await create({ agents: [reads(false)] });
      await untilWaiting(first.run(reads(false), "", { runId: "crash-12" }));
      await crash(first);
      const changed = await create({ agents: [reads(true)] });
      await changed.deliver("crash-12", "on", "again");
      expect(await changed.resume("crash-12").result).toMatchObject({
        status: "suspended",
        error: { code: "NON_DETERMINISM" },
      });
      await changed.close();
      const right = await create({ agents: [reads(false)] });
      expect((await right.resume("crash-12").result).output).toBe("nothing again");
    },
  },
  {
    rule: "R24",
    says: "a run is pinned to the version of its agent; a worker without it says so and runs nothing",
    async run({ create, crash }) {
      const versioned = (version: string) =>
        agent("versioned", async (ctx) => done(`${version} ${word(await ctx.waitFor("on"))}`), { version });
      const first = await create({ agents: [versioned("1")] });
      const handle = first.run(versioned("1"), "", { runId: "crash-9" });
      await untilWaiting(handle);
      await crash(first);
      const newer = await create({ agents: [versioned("2")] });
      await newer.deliver("crash-9", "on", "on");
      await expect(async () => newer.resume("crash-9").result).rejects.toMatchObject({
        code: "AGENT_NOT_FOUND",
      });
      const both = await create({ agents: [versioned("2"), versioned("1")] });
      expect((await both.resume("crash-9").result).output).toBe("1 on");
    },
  },
];
