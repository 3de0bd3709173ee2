import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  type AgentRunContext,
  type ChatContext,
  defineTool,
  type Hooks,
  type JsonValue,
  type Ledger,
  type ModelRequest,
  type PermissionDecision,
  type Permissions,
  type Pipeline,
  type ToolLeaf,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, ask, done, FakeHeadcount, FakeLedger, turns } from "../support/helpers.ts";
import { said, thenable } from "../support/open-house.ts";

const info = { provider: "x", model: "m" };

const model = { id: "m", info, generate: async () => said("fine") };

describe("ports that answer by thenables", () => {
  const worlds: [string, () => RuntimeOptions][] = [
    ["without a journal", () => ({})],
    ["with a journal and a ledger", () => ({ journal: new MemoryJournal(), ledger: () => new FakeLedger() })],
  ];

  test.each(worlds)("R12: %s: a layer around the agent may give a thenable", async (_, options) => {
    const layer: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit: () => {},
      run: (_context, core) => thenable(core()) as Promise<void>,
    };
    const lead: Agent = { ...agent("lead", async () => done("fine")), pipelines: { agent: layer } };
    expect(await new Runtime(options()).run(lead, "").result).toMatchObject({ output: "fine" });
  });

  test.each(worlds)("R24: %s: a fact may be made by a thenable, which may also fail", async (_, options) => {
    const lead = agent("lead", async (ctx) => {
      const made = await ctx.record("good", () => thenable(Promise.resolve("made")) as Promise<JsonValue>);
      const broken = thenable(Promise.reject(new Error("no such fact"))) as Promise<JsonValue>;
      const failed = await Promise.resolve(ctx.record("bad", () => broken)).catch(String);
      return done(`${String(made)} ${String(failed)}`);
    });
    const { output } = await new Runtime(options()).run(lead, "").result;
    expect(output).toBe("made Error: no such fact");
  });

  test("J11: a policy that denies by a thenable is waited for, and denies", async () => {
    let made = 0;
    const tool = defineTool({
      name: "t",
      description: "",
      input: z.object({}),
      execute: () => String(++made),
    });
    const permissions: Permissions = {
      isNoop: false,
      check: () => thenable(Promise.resolve({ allow: false, reason: "no" })) as Promise<PermissionDecision>,
    };
    const lead = agent("lead", async (ctx) => {
      const { content } = await ctx.tool({ id: "1", name: "t", arguments: "{}" }, tool);
      const called = await ctx.llm(model, ask("")).then(() => "called", String);
      return done(`${String(content)}; ${called}`);
    });
    const { output } = await new Runtime({ permissions }).run(lead, "").result;
    expect(output).toContain("t is not permitted: no");
    expect(output).not.toContain("called");
    expect(made).toBe(0);
  });

  test("R15: whether an agent is paused may come by a thenable", async () => {
    const headcount = new FakeHeadcount();
    headcount.pause("child/1");
    const isPaused = headcount.isPaused.bind(headcount);
    headcount.isPaused = (id) => thenable(Promise.resolve(isPaused(id))) as ReturnType<typeof isPaused>;
    let asked = 0;
    const counting = { ...model, generate: async () => said(String(++asked)) };
    const child = agent("child", async (ctx) =>
      done(String((await ctx.llm(counting, ask(""))).message.content)),
    );
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "" });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const run = new Runtime({ headcount: () => headcount }).run(lead, "");
    await turns();
    expect(asked).toBe(0);
    headcount.unpause("child/1");
    expect(await run.result).toMatchObject({ output: "1" });
  });

  test("R21: listeners that are drained by a thenable are waited for before the run ends", async () => {
    let isDrained = false;
    const drained = async (): Promise<void> => {
      await turns(3);
      isDrained = true;
    };
    const hooks: Hooks = {
      has: () => false,
      dispatch: () => {},
      drain: () => thenable(drained()) as Promise<void>,
    };
    await new Runtime({ hooks }).run(
      agent("lead", async () => done("")),
      "",
    ).result;
    expect(isDrained).toBe(true);
  });

  test("R24: a claim may come by a thenable", async () => {
    const journal = new MemoryJournal();
    const claim = journal.claim.bind(journal);
    journal.claim = (...given) =>
      thenable(Promise.resolve(claim(...given))) as ReturnType<MemoryJournal["claim"]>;
    const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask(""))).message.content)));
    expect(await new Runtime({ journal }).run(lead, "").result).toMatchObject({ output: "fine" });
  });

  test("R18: a request that cannot be read leaves no reservation open", async () => {
    let open = 0;
    const ledger: Ledger = new FakeLedger();
    ledger.reserve = () => {
      open++;
      const settle = () => {
        open--;
        return { warnings: [], exceeded: [] };
      };
      return { settle, cancel: () => void open-- };
    };
    const chat: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => {},
      run: (context, core) => {
        const hostile = {
          get seed(): number {
            throw new TypeError("no seed");
          },
        };
        context.request = Object.create(
          context.request,
          Object.getOwnPropertyDescriptors(hostile),
        ) as ModelRequest;
        return core();
      },
    };
    const lead = agent("lead", async (ctx) => done(await ctx.llm(model, ask("")).then(String, String)));
    const run = new Runtime({ ledger: () => ledger, pipelines: { chat } }).run(lead, "");
    expect(await run.result).toMatchObject({ output: "TypeError: no seed" });
    expect(open).toBe(0);
  });

  test("R23: a clock that breaks as a tool of a batch begins breaks that call alone", async () => {
    let isBroken = false;
    const now = (): number => {
      if (!isBroken) return 1;
      isBroken = false;
      throw new TypeError("no time");
    };
    const tools = ["one", "two"].map((name) =>
      defineTool({ name, description: "", input: z.object({}), execute: () => name }),
    );
    const ledger = new FakeLedger();
    const reserve = ledger.reserve.bind(ledger);
    // Reserved for the first, so the second begins next.
    ledger.reserve = (...given) => {
      isBroken = true;
      ledger.reserve = reserve;
      return reserve(...given);
    };
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch(
        tools.map((tool): ToolLeaf => ({
          kind: "tool",
          call: { id: tool.name, name: tool.name, arguments: "{}" },
          tool,
        })),
      );
      return done(outcomes.map(({ status }) => status).join());
    });
    const run = new Runtime({ ledger: () => ledger, clock: { now } }).run(lead, "");
    expect(await run.result).toMatchObject({ output: "completed,failed" });
  });
});
