import { describe, expect, test } from "vitest";
import { type Agent, type AgentRunContext, type Attachment, type Pipeline, RunId } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, done, until } from "../support/helpers.ts";

const picture: Attachment = { type: "image", url: "data:image/png;base64,AAAA" };
const paper: Attachment = { type: "file", url: "https://example.com/a.pdf", mediaType: "application/pdf" };

/** Answers with what came with its input. */
const seer = agent("seer", async (_, inbox) => done(JSON.stringify([inbox.input, inbox.attachments])));
const lead = agent("lead", async (ctx, { attachments }) => {
  const outcome = await ctx.hire({ agent: seer, input: "look", attachments });
  return done("result" in outcome ? outcome.result.output : outcome.status);
});

describe("what comes with an input", () => {
  test("stays with it if a layer changes the text, and every layer sees it", async () => {
    const seen: unknown[] = [];
    const louder: Pipeline<AgentRunContext> = {
      isNoop: false,
      async admit(context) {
        seen.push(["admit", context.attachments]);
      },
      async run(context, core) {
        seen.push(["run", context.attachments]);
        context.input += "!";
        await core();
      },
    };
    const loud: Agent = { ...seer, pipelines: { agent: louder } };
    const above = agent("above", async (ctx) => {
      const outcome = await ctx.hire({ agent: loud, input: "look", attachments: [paper] });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const { result } = new Runtime().run(loud, "look", { attachments: [picture] });
    expect((await result).output).toBe(JSON.stringify(["look!", [picture]]));
    const { result: below } = new Runtime().run(above, "");
    expect((await below).output).toBe(JSON.stringify(["look!", [paper]]));
    expect(seen).toEqual([
      ["admit", [picture]],
      ["run", [picture]],
      ["admit", [paper]],
      ["run", [paper]],
    ]);
  });

  test("cannot be taken away by a layer: one that tries fails, in admit and in process", async () => {
    const strip = (context: AgentRunContext): void => void Object.assign(context, { attachments: undefined });
    const admitting: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit: async (context) => strip(context),
      run: async (_, core) => core(),
    };
    const running: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit: () => undefined,
      run: async (context, core) => {
        strip(context);
        await core();
      },
    };
    const runWith = (layer: Pipeline<AgentRunContext>) =>
      new Runtime().run({ ...seer, pipelines: { agent: layer } }, "look", { attachments: [picture] }).result;
    const problem = /attachments.*only a getter|read only property 'attachments'/;
    await expect(runWith(admitting)).rejects.toThrow(problem);
    expect(await runWith(running)).toMatchObject({
      status: "failed",
      error: { message: expect.stringMatching(problem) as unknown },
    });
  });

  test("is as it was given, whatever the caller does with it afterwards", async () => {
    const mine = { type: "image" as const, url: "data:image/png;base64,AAAA" };
    const list = [mine];
    const hiring = agent("hiring", async (ctx) => {
      const given = [{ ...picture }];
      const handle = await ctx.spawn(seer, { input: "look", attachments: given });
      given.pop();
      const outcome = await ctx.join(handle);
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const runtime = new Runtime();
    const run = runtime.run(seer, "look", { attachments: list });
    mine.url = "https://elsewhere.example.com";
    list.pop();
    const expected = JSON.stringify(["look", [picture]]);
    expect((await run.result).output).toBe(expected);
    expect((await runtime.run(hiring, "").result).output).toBe(expected);
  });

  test("is in the journal once, however many inherit it", async () => {
    const journal = new MemoryJournal();
    const run = new Runtime({ journal }).run(lead, "", { runId: "once", attachments: [picture] });
    expect((await run.result).output).toContain("AAAA");
    // Not counting the answers, in which it stands as text.
    const bodies = journal.load(RunId("once")).map(({ body }) => JSON.stringify(body ?? null));
    expect(bodies.filter((body) => body.includes('"url":"data:image/png;base64,AAAA"'))).toHaveLength(1);
  });

  test("is not in the journal if a layer refuses the run", async () => {
    const journal = new MemoryJournal();
    const refusing: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit(context) {
        context.result = { status: "partial", output: "no pictures", stopReason: "done" };
      },
      run: async (_, core) => core(),
    };
    const guarded: Agent = { ...seer, pipelines: { agent: refusing } };
    const run = new Runtime({ journal }).run(guarded, "", { runId: "refused", attachments: [picture] });
    expect((await run.result).output).toBe("no pictures");
    expect(JSON.stringify(journal.load(RunId("refused")))).not.toContain("AAAA");
  });

  test("is part of what a hire asks for: a resumed run that gives something else is suspended", async () => {
    const journal = new MemoryJournal();
    let given: Attachment = picture;
    const frozen: boolean[] = [];
    const changing = agent("changing", async (ctx, { attachments }) => {
      frozen.push(Object.isFrozen(attachments?.[0]));
      await ctx.hire({ agent: seer, input: "look", attachments: [given] });
      return done(String(await ctx.waitFor("go")));
    });
    const setup = { journal, agents: [changing, seer] };
    const first = new Runtime(setup);
    const run = first.run(changing, "", { runId: "changed", attachments: [paper] });
    await until(() => run.status === "suspended");
    await first.close();
    given = paper;
    expect(await new Runtime(setup).resume("changed").result).toMatchObject({
      status: "suspended",
      error: {
        code: "NON_DETERMINISM",
        message: expect.stringContaining("its task, attachments or version have changed") as unknown,
      },
    });
    given = { mediaType: undefined, url: picture.url, type: "image" };
    const second = new Runtime(setup);
    await second.deliver("changed", "go", "on");
    expect(await second.resume("changed").result).toMatchObject({ status: "completed", output: "on" });
    expect(frozen).toEqual([true, true, true]);
  });
});
