import { expect } from "vitest";
import {
  type FunctionContext,
  isRaviError,
  type JsonValue,
  type PendingWait,
  type Pipeline,
  textOf,
} from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import {
  agent,
  call,
  done,
  hangingOnce,
  outputOf,
  type RuntimeCase,
  type RuntimeUnderTest,
  say,
  tool,
  until,
  untilWaiting,
  word,
} from "./stage.ts";

/** Lets that many milliseconds pass. */
const napper = agent("napper", async (ctx, inbox) => {
  await ctx.sleepUntil((await ctx.now()) + Number(inbox.input));
  return done("");
});

/** What a run with a time limit has answered, and for how many milliseconds it certainly did not wait. */
interface Timed {
  readonly output: string;
  readonly workMs: number;
}

/**
 * Fails unless the run is done in its time. If the machine was so slow that the work alone took longer than the limit, the answer says
 * nothing, and it is tried again with a longer limit: how much else the machine does decides nothing.
 */
async function expectInTime(
  output: string,
  firstS: number,
  run: (timeoutS: number) => Promise<Timed>,
): Promise<void> {
  for (let timeoutS = firstS; ; timeoutS *= 4) {
    const timed = await run(timeoutS);
    if (timed.output !== output && timed.workMs >= timeoutS * 1_000) continue;
    expect(timed.output).toBe(output);
    return;
  }
}

/** Lets time pass on the runtime. Returns how much did. */
async function nap(runtime: RuntimeUnderTest, seconds: number): Promise<number> {
  const from = performance.now();
  await runtime.run(napper, String(seconds * 1_000)).result;
  return performance.now() - from;
}

export const waitCases: readonly RuntimeCase[] = [
  {
    rule: "R24",
    says: "what is delivered arrives as it is: false, zero, an empty text and null too",
    async run({ create }) {
      const values = [false, 0, "", null, [], {}];
      const taker = agent("taker", async (ctx) => {
        const taken: JsonValue[] = [];
        for (const at of values.keys()) taken.push(await ctx.waitFor(`value ${at}`));
        return done(JSON.stringify(taken));
      });
      const runtime = await create({ agents: [taker] });
      const handle = runtime.run(taker, "", { runId: "wait-20" });
      await untilWaiting(handle);
      for (const [at, value] of values.entries()) await runtime.deliver("wait-20", `value ${at}`, value);
      expect((await handle.result).output).toBe(JSON.stringify(values));
    },
  },
  {
    rule: "R24",
    needs: "layers",
    says: "the calls of a batch ask in the order of the batch: the first gets the first answer, where all ask under one name",
    async run({ create }) {
      const name = "allowed";
      const asking: Pipeline<FunctionContext> = {
        isNoop: false,
        async admit(context, gate) {
          const isAllowed = await gate.require(name);
          if (isAllowed !== true) context.result = { content: "no", isError: true };
        },
        run: (_context, core) => core(),
      };
      const note = tool("note", () => "yes", { idempotent: true });
      const clerk = agent("clerk", async (ctx) => {
        const calls = ["a", "b", "c", "d"].map((id) => ({ ...call("note"), id }));
        const outcomes = await ctx.batch(calls.map((one) => ({ kind: "tool", call: one, tool: note })));
        return done(
          outcomes
            .map((outcome) => ("result" in outcome ? textOf(outcome.result) : outcome.status))
            .join(" "),
        );
      });
      const runtime = await create({ agents: [clerk], pipelines: { function: asking } });
      const handle = runtime.run(clerk, "", { runId: "wait-21" });
      await untilWaiting(handle);
      for (const isAllowed of [true, false, false, true]) await runtime.deliver("wait-21", name, isAllowed);
      expect((await handle.result).output).toBe("yes no no yes");
    },
  },
  {
    rule: "R24",
    says: "what is delivered before anybody waits is kept, in order",
    async run({ create }) {
      const reader = agent("reader", async (ctx) => {
        const first = await ctx.waitFor("word");
        return done(`${word(first)} ${word(await ctx.waitFor("word"))} ${word(await ctx.waitFor("other"))}`);
      });
      const runtime = await create({ agents: [reader] });
      const handle = runtime.run(reader, "", { runId: "wait-1" });
      await runtime.deliver("wait-1", "other", "three");
      await runtime.deliver("wait-1", "word", "one");
      await runtime.deliver("wait-1", "word", "two");
      expect((await handle.result).output).toBe("one two three");
    },
  },
  {
    rule: "R24",
    says: "an answer that is delivered twice under one id counts once, and one id may answer several names",
    async run({ create }) {
      const reader = agent("reader", async (ctx) => {
        const words = [await ctx.waitFor("word"), await ctx.waitFor("other"), await ctx.waitFor("word")];
        return done(words.map(word).join(" "));
      });
      const runtime = await create({ agents: [reader] });
      const handle = runtime.run(reader, "", { runId: "wait-4" });
      await runtime.deliver("wait-4", "word", "one", { id: "click-1" });
      await runtime.deliver("wait-4", "word", "one", { id: "click-1" });
      await runtime.deliver("wait-4", "other", "two", { id: "click-1" });
      await runtime.deliver("wait-4", "word", "three", { id: "click-2" });
      expect((await handle.result).output).toBe("one two three");
    },
  },
  {
    rule: "R24",
    says: "a run waits for what another runtime delivers, and says that it waits",
    async run({ create }) {
      const reader = agent("reader", async (ctx) => done(JSON.stringify(await ctx.waitFor("answer"))));
      const runtime = await create({ agents: [reader] });
      const handle = runtime.run(reader, "", { runId: "wait-2" });
      await untilWaiting(handle);
      const other = await create({ agents: [reader] });
      await other.deliver("wait-2", "answer", { yes: [1, null] });
      expect((await handle.result).output).toBe('{"yes":[1,null]}');
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "the list says what a run and all whom it has hired wait for, also after a crash, until it is answered",
    async run({ create, crash }) {
      const pay = tool("pay", () => "paid", { needsApproval: true });
      const clerk = agent("clerk", async (ctx) => {
        const { isError } = await ctx.tool(call("pay"), pay);
        return done(`${isError} ${word(await ctx.waitFor("word"))}`);
      });
      const lead = agent("lead", async (ctx) => done(outputOf(await ctx.hire({ agent: clerk, input: "" }))));
      const waitingFor = async (from: RuntimeUnderTest): Promise<readonly PendingWait[] | undefined> =>
        (await from.list()).find(({ runId }) => runId === "wait-5")?.waitingFor;
      const untilListed = (by: RuntimeUnderTest): Promise<void> =>
        until(async () => (await waitingFor(by)) !== undefined);
      const first = await create({ agents: [lead, clerk] });
      const handle = first.run(lead, "", { runId: "wait-5" });
      await untilListed(first);
      const [asked, ...others] = (await waitingFor(first)) ?? [];
      expect(others).toEqual([]);
      const execId = "wait-5/hire:clerk#1";
      const question = { tool: "pay", callId: "c1", arguments: "{}" };
      const who = { execId, agentId: "clerk/1", since: expect.any(Number) as number };
      expect(asked).toEqual({ kind: "approval", name: `approval:${execId}:tool:pay#1`, question, ...who });
      await crash(first);
      void handle.result.catch(() => {});
      const second = await create({ agents: [lead, clerk] });
      expect(await waitingFor(second)).toEqual([asked]);
      const again = second.resume("wait-5");
      await untilListed(second);
      await second.deliver("wait-5", asked?.name ?? "", true);
      await untilListed(second);
      expect(await waitingFor(second)).toEqual([{ kind: "signal", name: "word", ...who }]);
      await second.deliver("wait-5", "word", "done", { mustExist: true });
      expect((await again.result).output).toBe("false done");
      expect(await waitingFor(second)).toBeUndefined();
    },
  },
  {
    rule: "R8",
    needs: "waits",
    says: "the time in which a child waits for an answer does not count for its parent's time limit, also not after a crash",
    async run({ create, crash }) {
      const clerk = agent("clerk", async (ctx) => done(word(await ctx.waitFor("word"))));
      const middle = agent("middle", async (ctx) =>
        done(outputOf(await ctx.hire({ agent: clerk, input: "" }))),
      );
      const lead = agent("lead", async (ctx, inbox) =>
        done(outputOf(await ctx.hire({ agent: middle, input: "", timeoutS: Number(inbox.input) }))),
      );
      const setup = { agents: [lead, middle, clerk, napper] };
      await expectInTime("in time", 2, async (timeoutS) => {
        const runId = `wait-21-${timeoutS}`;
        const from = performance.now();
        const first = await create(setup);
        const handle = first.run(lead, String(timeoutS), { runId });
        await untilWaiting(handle);
        await crash(first);
        void handle.result.catch(() => {});
        const second = await create(setup);
        const again = second.resume(runId);
        await untilWaiting(again);
        const napMs = await nap(second, 1.25 * timeoutS);
        await second.deliver(runId, "word", "in time");
        const { output } = await again.result;
        return { output, workMs: performance.now() - from - napMs };
      });
    },
  },
  {
    rule: "R23",
    needs: "waits",
    says: "nor does it count for the time limit of a question to the child",
    async run({ create }) {
      const clerk = agent("clerk", async (ctx, inbox) => {
        const said = await ctx.waitFor("word");
        await inbox.reply(await inbox.receive(), said);
        return done("");
      });
      const asking = new Set<string>();
      const lead = agent("lead", async (ctx, inbox) => {
        const handle = await ctx.spawn(clerk, { input: "" });
        await ctx.waitFor("ask");
        asking.add(ctx.meta.runId);
        const silent = (error: unknown): string => (isRaviError(error) ? error.code : "?");
        const timeoutS = Number(inbox.input);
        return done(word(await ctx.ask(handle, "well?", { timeoutS }).catch(silent)));
      });
      const runtime = await create({ agents: [lead, clerk, napper] });
      await expectInTime("at last", 0.1, async (timeoutS) => {
        const run = `wait-22-${timeoutS}`;
        const handle = runtime.run(lead, String(timeoutS), { runId: run });
        const waits = async (): Promise<number | undefined> =>
          (await runtime.list()).find(({ runId }) => runId === run)?.waitingFor?.length;
        await until(async () => (await waits()) === 2);
        const from = performance.now();
        await runtime.deliver(run, "ask", true);
        await until(() => asking.has(run));
        const napMs = await nap(runtime, 6 * timeoutS);
        await runtime.deliver(run, "word", "at last");
        const { output } = await handle.result;
        return { output, workMs: performance.now() - from - napMs };
      });
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "the list says which call somebody has to decide on, with its arguments, until that is decided",
    async run({ create, crash }) {
      const refund = { id: "c7", name: "pay", arguments: '{"refund":"r7"}' };
      const model = scriptedModel([{ toolCalls: [refund] }]);
      const { tool: pay, calls } = hangingOnce("pay", false);
      const payer = agent("payer", async (ctx) => {
        const { message } = await ctx.llm(model, say("pay it back"));
        for (const each of message.toolCalls ?? []) await ctx.tool(each, pay);
        return done(word(await ctx.waitFor("word")));
      });
      const waitingFor = async (from: RuntimeUnderTest): Promise<readonly PendingWait[] | undefined> =>
        (await from.list()).find(({ runId }) => runId === "wait-30")?.waitingFor;
      const first = await create({ agents: [payer] });
      first.run(payer, "", { runId: "wait-30" });
      await until(() => calls() === 1);
      await crash(first);
      const second = await create({ agents: [payer] });
      expect((await second.resume("wait-30").result).error?.code).toBe("NEEDS_DECISION");
      const name = "wait-30:tool:pay#1";
      const question = { tool: "pay", callId: "c7", arguments: refund.arguments };
      expect(await waitingFor(second)).toEqual([
        {
          kind: "decision",
          name,
          question,
          execId: "wait-30",
          agentId: "payer",
          since: expect.any(Number) as number,
        },
      ]);
      const decided = second.resume("wait-30", { decisions: { [name]: "skip" } });
      await untilWaiting(decided);
      await until(async () => (await waitingFor(second))?.[0]?.kind === "signal");
      await second.deliver("wait-30", "word", "done");
      expect((await decided.result).output).toBe("done");
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "with mustExist, what is delivered to a run that is not known or has ended is refused; a repeated delivery is not",
    async run({ create }) {
      const reader = agent("reader", async (ctx) => done(word(await ctx.waitFor("word"))));
      const runtime = await create({ agents: [reader] });
      const give = (runId: string, id: string): Promise<void> =>
        runtime.deliver(runId, "word", "one", { id, mustExist: true });
      const refused = { code: "INVALID_VALUE", field: "runId" };
      await expect(give("wait-6-misspelt", "1")).rejects.toMatchObject(refused);
      const handle = runtime.run(reader, "", { runId: "wait-6" });
      await give("wait-6", "1");
      expect((await handle.result).output).toBe("one");
      await give("wait-6", "1");
      await expect(give("wait-6", "2")).rejects.toMatchObject({
        ...refused,
        message: expect.stringContaining("has not ended; this one is completed") as string,
      });
      await runtime.deliver("wait-6", "word", "nobody reads it");
    },
  },
  {
    rule: "R24",
    needs: "waits",
    says: "with mustWait, an answer that no run waits for now is refused, and the error names what it waits for",
    async run({ create, crash }) {
      const reader = agent("reader", async (ctx) =>
        done(`${word(await ctx.waitFor("word"))} ${word(await ctx.waitFor("other"))}`),
      );
      const setup = { agents: [reader] };
      const runtime = await create(setup);
      const answer = (by: RuntimeUnderTest, name: string, id?: string): Promise<void> =>
        by.deliver("wait-23", name, "one", { id, mustWait: true });
      await expect(answer(runtime, "word")).rejects.toMatchObject({ code: "INVALID_VALUE", field: "runId" });
      const handle = runtime.run(reader, "", { runId: "wait-23" });
      await untilWaiting(handle);
      await expect(answer(runtime, "wrod")).rejects.toMatchObject({
        code: "INVALID_VALUE",
        field: "name",
        message: expect.stringMatching(/"wrod"; expected .*waits for now: "word"/) as string,
      });
      await answer(runtime, "word", "click");
      await untilWaiting(handle);
      // It was given already, so it is neither refused nor taken for the next answer.
      await answer(runtime, "word", "click");
      await expect(answer(runtime, "word")).rejects.toMatchObject({ field: "name" });
      await crash(runtime);
      void handle.result.catch(() => {});
      const second = await create(setup);
      await expect(answer(second, "word")).rejects.toThrow(/waits for now: "other"/);
      await answer(second, "other");
      expect((await second.resume("wait-23").result).output).toBe("one one");
      await expect(answer(second, "word")).rejects.toMatchObject({ field: "runId" });
    },
  },
  {
    rule: "R24",
    needs: "layers",
    says: "a layer whose question cannot be written as JSON is answered like any other; observers are told without it",
    async run({ create }) {
      const name = "may-i";
      const circle: Record<string, JsonValue> = {};
      circle["self"] = circle;
      const asking: Pipeline<FunctionContext> = {
        isNoop: false,
        admit: async (_context, gate) => void (await gate.require(name, circle)),
        run: (_context, core) => core(),
      };
      const pay = tool("pay", () => "paid");
      const clerk = agent("clerk", async (ctx) => done(String((await ctx.tool(call("pay"), pay)).isError)));
      const runtime = await create({ agents: [clerk], pipelines: { function: asking } });
      const handle = runtime.run(clerk, "", { runId: "wait-8" });
      for await (const { event } of handle.events()) {
        if (event.type !== "progress" || event.name !== "approvalRequested") continue;
        expect(event.data).toEqual({ name, question: null });
        expect(event.callId).toBe("c1");
        break;
      }
      await runtime.deliver("wait-8", name, true);
      expect((await handle.result).output).toBe("false");
    },
  },
  {
    rule: "R24",
    says: "a sleep lasts to its time, and one to a time that has passed does not last",
    async run({ create }) {
      const sleeper = agent("sleeper", async (ctx) => {
        const start = await ctx.now();
        await ctx.sleepUntil(start + 20);
        const woke = await ctx.now();
        await ctx.sleepUntil(start);
        return done(woke >= start + 20 ? "slept" : `woke ${start + 20 - woke} ms early`);
      });
      const runtime = await create({ agents: [sleeper] });
      expect((await runtime.run(sleeper, "").result).output).toBe("slept");
    },
  },
  {
    rule: "R16",
    needs: "checks",
    says: "a deadline ends a run that waits, and all whom it has hired, and says so",
    async run({ create }) {
      const idle = agent("idle", async (ctx) => done(word(await ctx.waitFor("never"))));
      const lead = agent("lead", async (ctx) => {
        // The deadline may reach the helper a little earlier than the lead.
        await ctx.hire({ agent: idle, input: "" });
        return done(word(await ctx.waitFor("never")));
      });
      const runtime = await create({ agents: [lead, idle] });
      const result = await runtime.run(lead, "", { executionBudget: { deadlineS: 0.05 } }).result;
      expect(result).toMatchObject({ status: "partial", stopReason: "deadline" });
    },
  },
  {
    rule: "R8",
    says: "a child is asked, answers, and is joined; one that ends without an answer is not waited for",
    async run({ create }) {
      const clerk = agent("clerk", async (ctx, inbox) => {
        const question = await inbox.receive();
        if (question.content === "silence") return done("said nothing");
        await inbox.reply(question, { to: question.from, heard: question.content });
        return done(`${ctx.agentId} answered`);
      });
      const lead = agent("lead", async (ctx) => {
        const talks = await ctx.spawn(clerk, { input: "" });
        const reply = JSON.stringify(await ctx.ask(talks, "hello"));
        const mute = await ctx.spawn(clerk, { input: "" });
        const silence = await ctx
          .ask(mute, "silence")
          .then(String, (error: unknown) => (isRaviError(error) ? error.code : "?"));
        return done(
          [reply, outputOf(await ctx.join(talks)), silence, outputOf(await ctx.join(mute))].join(" | "),
        );
      });
      const runtime = await create({ agents: [lead, clerk] });
      expect((await runtime.run(lead, "").result).output).toBe(
        '{"to":"lead","heard":"hello"} | clerk/1 answered | TOOL_ERROR | said nothing',
      );
    },
  },
  {
    rule: "R24",
    says: "a tool that needs approval waits for it; no is a result that the model sees",
    async run({ create }) {
      let sent = 0;
      const send = tool("send", () => ++sent, { needsApproval: true });
      const clerk = agent("clerk", async (ctx) => {
        const both = await ctx.batch([
          { kind: "tool", call: call("send"), tool: send },
          { kind: "tool", call: call("send"), tool: send },
        ]);
        const words = both.map((one) => ("result" in one ? `${one.result.isError}` : one.status));
        return done(words.join(" "));
      });
      const runtime = await create({ agents: [clerk] });
      const handle = runtime.run(clerk, "", { runId: "wait-3" });
      await untilWaiting(handle);
      expect(sent).toBe(0);
      await runtime.deliver("wait-3", "approval:wait-3:tool:0:1", { approved: false, reason: "too dear" });
      await runtime.deliver("wait-3", "approval:wait-3:tool:0:0", true);
      expect((await handle.result).output).toBe("false true");
      expect(sent).toBe(1);
    },
  },
  {
    rule: "R23",
    says: "two operations at once in one execution are refused at once, whatever they are",
    async run({ create }) {
      const hasty = agent("hasty", async (ctx, inbox) => {
        const both = [() => inbox.receive(), () => inbox.receive(), () => ctx.waitFor("x"), () => ctx.now()];
        const asked = both.map(async (ask) => ask());
        const refused = await Promise.allSettled(asked.slice(1));
        const codes = refused.map((one) =>
          one.status === "rejected" && isRaviError(one.reason) ? one.reason.code : one.status,
        );
        void asked[0]?.catch(() => {});
        return done(codes.join(" "));
      });
      const runtime = await create({ agents: [hasty] });
      const { output } = await runtime.run(hasty, "").result;
      expect(output).toBe("LANE_VIOLATION LANE_VIOLATION LANE_VIOLATION");
    },
  },
];
