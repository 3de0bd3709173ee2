import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  type ChatContext,
  defineTool,
  type JournalRecord,
  type Ledger,
  type LLMClient,
  type Meter,
  type ModelRequest,
  type ModelResponse,
  type Pipeline,
  RunId,
  type ToolContext,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, ask, cut, done, FakeLedger, turns, until, within } from "../support/helpers.ts";

// What is paid inside of an effect that its begin does not speak of: calls of tools and judges, other tries, other models. A process
// that is killed leaves of it what was on record at that moment, and nothing else.

const RUN = RunId("r");
const usage = { inputTokens: 100, outputTokens: 50 };
const answer: ModelResponse = {
  message: { role: "assistant", content: "fine" },
  finishReason: "stop",
  usage,
};

/** A model of 200 tokens and $0.20 at most, which takes 150 and $0.15; the dear one takes ten times as much. */
const meter: Meter = {
  estimate: ({ model }, { messages }) => ({
    inputTokens: 100 * messages.length,
    maxOutputTokens: 100,
    price: { usd: (messages.length + 1) * (model === "dear" ? 1 : 0.1) },
  }),
  price: ({ model }) => ({ usd: model === "dear" ? 1.5 : 0.15 }),
};

/** One run over many processes, each of which may be killed. */
class World {
  journal = new MemoryJournal();
  ledger = new FakeLedger();
  sent = 0;
  isKilled = false;
  maxCostUsd = Infinity;
  readonly agents: Agent[] = [];
  options: Partial<RuntimeOptions> = {};

  /** Calls of it are told by number, over all processes. */
  model(
    id: string,
    generate: (n: number, signal: AbortSignal | undefined) => Promise<ModelResponse>,
  ): LLMClient {
    return {
      id,
      info: { provider: "x", model: id },
      generate: (_, options) => generate(++this.sent, options?.signal),
    };
  }

  /** The process is killed now: what is on record stays, and nobody hears of anything that is under way. */
  kill(): Promise<never> {
    this.journal = cut(RUN, this.records);
    this.isKilled = true;
    return new Promise(() => {});
  }

  get records(): readonly JournalRecord[] {
    return this.journal.load(RUN);
  }

  runtime(): Runtime {
    const { journal, agents } = this;
    const budget = this.maxCostUsd === Infinity ? {} : { maxCostUsd: this.maxCostUsd };
    const ledger = (): FakeLedger => (this.ledger = new FakeLedger(budget));
    return new Runtime({ journal, agents, ledger, meter, ...this.options });
  }

  /** To its end, or until it is killed. */
  async process(lead: Agent, decisions?: Record<string, "retry" | "skip" | "fail">) {
    this.isKilled = false;
    const runtime = this.runtime();
    const isNew = this.records.length === 0;
    const run = isNew ? runtime.run(lead, "", { runId: RUN }) : runtime.resume(RUN, { decisions });
    const result = await Promise.race([run.result, until(() => this.isKilled).then(() => "killed" as const)]);
    return result;
  }

  async ends(lead: Agent, decisions?: Record<string, "retry" | "skip" | "fail">) {
    const result = await this.process(lead, decisions);
    if (result === "killed") throw new Error("it was killed");
    return result;
  }

  /** What it has spent, to the cent: sums of dollars are no whole numbers in this ledger. */
  get cost(): number {
    return cents(this.ledger.used.cost);
  }
}

const cents = (cost: number | null | undefined): number => Math.round((cost ?? NaN) * 100) / 100;

function thinking(
  think: (context: ToolContext) => Promise<unknown>,
  more: { idempotent?: boolean; timeoutS?: number } = {},
) {
  return defineTool({
    name: "think",
    description: "",
    input: z.object({}),
    ...more,
    execute: async (_, context) => {
      await think(context);
      return "thought";
    },
  });
}
const call = { id: "c", name: "think", arguments: "{}" };

function chat(
  run: (context: ChatContext, core: () => Promise<void>) => Promise<void>,
): Pipeline<ChatContext> {
  return { isNoop: false, admit() {}, run };
}

const asking = (model: LLMClient, request: ModelRequest = ask("x")): Agent =>
  agent("lead", async (ctx) => done(String((await ctx.llm(model, request)).message.content)));

describe("T2: a crash passes no cap: what is paid inside of an effect is on record before it is sent", () => {
  /** Killed in the middle of every call that is sent. */
  async function sentUnder(maxCostUsd: number, make: (world: World) => Agent): Promise<World> {
    const world = new World();
    world.maxCostUsd = maxCostUsd;
    const lead = make(world);
    world.agents.push(lead);
    for (let n = 0; n < 20; n++) if ((await world.process(lead)) !== "killed") return world;
    return world;
  }

  test("T2: calls of a tool: of $1, five of $0.20 are sent, however often its process is killed", async () => {
    const world = await sentUnder(1.001, (own) => {
      const model = own.model("m", () => own.kill());
      const tool = thinking(({ llm }) => llm(model, ask("x")), { idempotent: true });
      return agent("lead", async (ctx) => done((await ctx.tool(call, tool)).content.toString()));
    });
    expect(world.sent).toBe(5);
    expect(world.cost).toBe(1);
  });

  test("T2: calls of a judge: of $5, two of $2 are sent", async () => {
    const world = await sentUnder(5, (own) => {
      const dear = own.model("dear", () => own.kill());
      own.options = {
        pipelines: {
          chat: chat(async (context, core) => {
            await context.call(dear, ask("is it good?"));
            await core();
          }),
        },
      };
      return asking(own.model("m", async () => answer));
    });
    expect(world.sent).toBe(2);
    // The call that was judged was never sent. It is begun all the same, and what it set aside is not given back by a crash.
    expect(world.cost).toBeLessThanOrEqual(5);
  });

  test("T2: calls of a dearer model, after the one that was begun with has refused: of $5, two of $2 are sent", async () => {
    let dearly = 0;
    const world = await sentUnder(5, (own) => {
      const dear = own.model("dear", () => {
        dearly++;
        return own.kill();
      });
      own.options = {
        pipelines: {
          chat: chat(async (context, core) => {
            await core().catch(async () => {
              context.model = dear;
              await core();
            });
          }),
        },
      };
      return asking(own.model("m", () => Promise.reject(Object.assign(new Error("busy"), { status: 529 }))));
    });
    expect(dearly).toBe(2);
    expect(world.cost, "what was refused has cost nothing, and that is on record").toBe(4);
  });

  test("T2: a call that a layer has made larger before it is sent stays charged as it was sent, and only so", async () => {
    const world = await sentUnder(2, (own) => {
      own.options = {
        pipelines: {
          chat: chat(async (context, core) => {
            const { messages } = context.request;
            context.request = { ...context.request, messages: [...messages, ...messages, ...messages] };
            await core();
          }),
        },
      };
      return asking(own.model("m", () => own.kill()));
    });
    expect(world.sent, "five of $0.40").toBe(5);
    expect(world.cost).toBe(2);
  });

  test("T2: so does one that a layer has made smaller and dearer", async () => {
    const dearer: Meter = {
      ...meter,
      estimate: (_, { messages: [first] }) =>
        first?.content === "rare"
          ? { inputTokens: 50, maxOutputTokens: 100, price: { usd: 0.4 } }
          : { inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } },
    };
    const world = await sentUnder(2, (own) => {
      own.options = {
        meter: dearer,
        pipelines: {
          chat: chat(async (context, core) => {
            context.request = ask("rare");
            await core();
          }),
        },
      };
      return asking(own.model("m", () => own.kill()));
    });
    expect(world.sent, "five of $0.40").toBe(5);
    expect(world.cost).toBe(2);
  });

  test("T2: so does one that a layer has made larger at the same price", async () => {
    const world = new World();
    const model = world.model("m", async (n) => (n === 1 ? world.kill() : answer));
    world.options = {
      meter: {
        estimate: (_, { messages: [first] }) => ({
          inputTokens: first?.content === "long" ? 500 : 100,
          maxOutputTokens: 100,
          price: { usd: 0 },
        }),
        price: () => ({ usd: 0 }),
      },
      pipelines: {
        chat: chat(async (context, core) => {
          context.request = ask("long");
          await core();
        }),
      },
    };
    const lead = asking(model);
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    await world.ends(lead);
    expect(world.ledger.used.tokens, "600 in flight at the crash, 150 that were answered").toBe(750);
  });

  test("T2: what was set aside for a call that the ledger then refused is not charged beside the cheaper one in its place", async () => {
    const world = new World();
    world.maxCostUsd = 1;
    const cheap = world.model("m", async (n) => (n === 1 ? world.kill() : answer));
    world.options = {
      pipelines: {
        chat: chat(async (context, core) => {
          await core().catch(async () => {
            context.model = cheap;
            await core();
          });
        }),
      },
    };
    const lead = asking(world.model("dear", async () => answer));
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    await world.ends(lead);
    expect(world.sent).toBe(2);
    expect(world.cost, "one in flight at the crash, one that was answered").toBe(0.35);
  });

  test("T2: three tries that broke off are charged after a crash in the fourth, each as what it took", async () => {
    const world = new World();
    const model = world.model("m", async (n) => {
      if (n <= 2) throw new Error("socket hang up");
      if (n === 3) throw Object.assign(new Error("too many requests"), { status: 429 });
      return n === 4 ? world.kill() : answer;
    });
    world.options = {
      pipelines: { chat: chat(async (_, core) => core().catch(core).catch(core).catch(core)) },
    };
    const lead = asking(model);
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    const result = await world.ends(lead);
    // Two broke off and are charged whole, one was refused and took its turn only, one is in doubt, and one was answered.
    expect(world.ledger.used).toMatchObject({ tokens: 200 + 200 + 0 + 200 + 150, turns: 5 });
    expect(world.cost).toBe(0.75);
    expect(cents(result.cost)).toBe(0.75);
    expect(result.inDoubt).toEqual(["r:llm:m#1"]);
    expect(result.agents).toMatchObject([{ modelCalls: 1, retries: 4 }]);
    expect(cents(result.agents?.[0]?.wasteUsd)).toBe(0.6);
  });

  test("T2: a judge between two tries makes neither of them the other: all three are charged", async () => {
    const world = new World();
    const model = world.model("m", async (n) => {
      if (n === 1) throw new Error("socket hang up");
      return n === 3 ? world.kill() : answer;
    });
    world.options = {
      pipelines: {
        chat: chat(async (context, core) => {
          await core().catch(async () => {
            await context.call(model, ask("worth another try?"));
            await core();
          });
        }),
      },
    };
    const lead = asking(model);
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    const result = await world.ends(lead);
    // One broke off, the judge has answered, one is in doubt, and the last was answered.
    expect(world.ledger.used).toMatchObject({ tokens: 200 + 150 + 200 + 150, turns: 4 });
    expect(world.cost).toBe(0.7);
    expect(cents(result.cost)).toBe(0.7);
  });

  test("T2: of two tries at once, each is charged as what it took after a crash in the third", async () => {
    const world = new World();
    const late = Promise.withResolvers<void>();
    const model = world.model("m", async (n) => {
      if (n === 1) await late.promise;
      return n === 3 ? world.kill() : answer;
    });
    world.options = {
      pipelines: {
        chat: chat(async (_, core) => {
          // As if a layer had given the first one up, whose provider does not stop and answers after the second.
          const first = core();
          await core();
          late.resolve();
          await first;
          await core();
        }),
      },
    };
    const lead = asking(model);
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    const spend = { tokens: 150, cost: 0.15 };
    const charged = world.records.filter(({ key, phase }) => key.startsWith("spend:") && phase === "end");
    expect(charged.map(({ body }) => body)).toMatchObject([
      { call: 1, spend },
      { call: 0, spend },
    ]);
    world.options = {};
    await world.ends(lead);
    // Two were answered, one is in doubt, and the last was answered.
    expect(world.cost).toBe(0.65);
  });

  test("T2: asked again after it has ended, the record says the same", async () => {
    const world = new World();
    const model = world.model("m", async (n) => {
      if (n <= 2) throw new Error("socket hang up");
      return n === 3 ? world.kill() : answer;
    });
    world.options = { pipelines: { chat: chat(async (_, core) => core().catch(core).catch(core)) } };
    const lead = asking(model);
    world.agents.push(lead);
    await world.process(lead);
    const result = await world.ends(lead);
    const again = await world.ends(lead);
    expect(again.cost).toBe(result.cost);
    expect(again.agents).toEqual(result.agents);
    expect(again.inDoubt).toEqual(result.inDoubt);
  });

  test("T2: a call of a tool that was answered before the crash is charged as what it took, one in flight as what was set aside", async () => {
    const world = new World();
    const model = world.model("m", async (n) => (n === 2 ? world.kill() : answer));
    const tool = thinking(
      async ({ llm }) => {
        await llm(model, ask("1"));
        await llm(model, ask("2"));
      },
      { idempotent: true },
    );
    const lead = agent("lead", async (ctx) => done((await ctx.tool(call, tool)).content.toString()));
    world.agents.push(lead);
    await world.process(lead);
    const result = await world.ends(lead);
    expect(world.cost).toBe(cents(0.15 + 0.2 + 0.15 + 0.15));
    expect(cents(result.cost)).toBe(0.65);
    expect(world.ledger.used.toolCalls, "one call, made twice").toBe(1);
    expect(result.agents).toMatchObject([{ toolCalls: 1, retries: 1 }]);
  });

  test("T5: a tool that was killed in the middle counts once, so that its limit is not met sooner than without", async () => {
    const world = new World();
    let kills = 5;
    const tool = thinking(async () => (kills-- > 0 ? world.kill() : undefined), { idempotent: true });
    const lead = agent("lead", async (ctx) => {
      await ctx.tool(call, tool);
      return done((await ctx.tool(call, tool)).content.toString());
    });
    world.agents.push(lead);
    world.options = { ledger: () => (world.ledger = new FakeLedger({ maxToolCalls: 2 })) };
    for (let n = 0; n < 5; n++) expect(await world.process(lead)).toBe("killed");
    expect(await world.ends(lead)).toMatchObject({ status: "completed", output: "thought" });
    expect(world.ledger.used.toolCalls).toBe(2);
  });

  test("T5: nor does one of a helper count more than once that was killed in it, and is over", async () => {
    const world = new World();
    let kills = 1;
    const tool = thinking(async () => (kills-- > 0 ? world.kill() : undefined), { idempotent: true });
    const helper = agent("helper", async (ctx) => done((await ctx.tool(call, tool)).content.toString()));
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: helper, input: "" });
      await ctx.tool(
        { ...call, id: "d" },
        thinking(async () => (kills++ < 0 ? world.kill() : undefined)),
      );
      return done(status);
    });
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    expect(await world.process(lead)).toBe("killed");
    expect(await world.ends(lead, { "r:tool:think#1": "retry" })).toMatchObject({ output: "completed" });
    expect(world.ledger.used.toolCalls).toBe(2);
  });

  test("T5: a tool that its helper has left, which is over, stays counted", async () => {
    const world = new World();
    const model = world.model("m", async (n) => (n === 1 ? world.kill() : answer));
    const hanging = thinking(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
    );
    const helper = agent("helper", async (ctx) => {
      ctx.tool(call, hanging).catch(() => undefined);
      await turns(2);
      return done("left it");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: helper, input: "" });
      return done(String((await ctx.llm(model, ask("x"))).message.content));
    });
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    expect(await world.ends(lead)).toMatchObject({ status: "completed", output: "fine" });
    expect(world.ledger.used.toolCalls).toBe(1);
  });

  test("R18: a helper has no more after a crash than it was hired with", async () => {
    const world = new World();
    const model = world.model("m", async (n) => (n === 1 ? world.kill() : answer));
    const helper = agent("helper", async (ctx) => {
      for (let n = 0; n < 5; n++) await ctx.llm(model, ask(String(n)));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: helper, input: "", executionBudget: { maxTurns: 3 } });
      return done(status);
    });
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    await world.ends(lead);
    expect(world.sent, "one in flight at the crash, and two more").toBe(3);
  });

  test("R18: a ledger is told again of the largest of several tries, which says how much the last call needs", async () => {
    const sizes: unknown[] = [];
    class SizedLedger extends FakeLedger {
      override charge(...[spent, options]: Parameters<Ledger["charge"]>): ReturnType<FakeLedger["charge"]> {
        sizes.push(options?.largest);
        return super.charge(spent ?? {});
      }
    }
    const world = new World();
    const model = world.model("m", async (n) => {
      if (n === 1) throw new Error("socket hang up");
      return n === 3 ? world.kill() : answer;
    });
    world.options = {
      ledger: () => new SizedLedger(),
      pipelines: { chat: chat(async (_, core) => core().catch(core)) },
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask("1"));
      return done(String((await ctx.llm(model, ask("2"))).message.content));
    });
    world.agents.push(lead);
    expect(await world.process(lead)).toBe("killed");
    await world.ends(lead);
    expect(sizes).toContainEqual({ tokens: 200, cost: 0.2 });
  });

  test("T2: without a ledger nothing is set aside, and what was paid before a crash is in the result", async () => {
    const world = new World();
    const judge = world.model("judge", async () => answer);
    let tries = 0;
    const model = world.model("m", async () => {
      // Paid for, and no answer.
      if (++tries === 1) return JSON.parse(JSON.stringify({ ...answer, message: null })) as ModelResponse;
      return tries === 2 ? world.kill() : answer;
    });
    const judged = chat(async (context, core) => {
      await context.call(judge, ask("is it good?"));
      await core().catch(core);
    });
    world.options = { ledger: undefined, pipelines: { chat: judged } };
    const lead = asking(model);
    world.agents.push(lead);
    await world.process(lead);
    const result = await world.ends(lead);
    // The judge twice, the answer that was none, and the one that was; what was in flight is not known.
    expect(cents(result.cost)).toBe(0.6);
    expect(result.agents).toMatchObject([{ modelCalls: 1, retries: 1 }]);
    const set = world.records.filter(({ key, phase }) => key.startsWith("spend:") && phase === "begin");
    expect(set).toEqual([]);
  });

  test("T2: without a ledger, a try that broke off before the answer is in no doubt after a resume", async () => {
    const world = new World();
    const model = world.model("m", async (n) => {
      if (n === 1) throw new Error("socket hang up");
      return answer;
    });
    world.options = { ledger: undefined, pipelines: { chat: chat(async (_, core) => core().catch(core)) } };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask("x"));
      await ctx.waitFor("go");
      return done("");
    });
    world.agents.push(lead);
    const runtime = world.runtime();
    const run = runtime.run(lead, "", { runId: RUN });
    await turns();
    await runtime.close();
    expect(await run.result).toMatchObject({ status: "suspended", inDoubt: [] });
    const last = world.runtime();
    await last.deliver(RUN, "go", 1);
    expect(await last.resume(RUN).result).toMatchObject({ status: "completed", cost: 0.15, inDoubt: [] });
  });

  test("T2: one that is stopped while that is written down is not sent, and costs nothing", async () => {
    const world = new World();
    const model = world.model("m", async () => answer);
    const tool = thinking(({ llm }) => llm(model, ask("x")), { idempotent: true });
    const lead = agent("lead", async (ctx) => done((await ctx.tool(call, tool)).content.toString()));
    world.agents.push(lead);
    const slow = new MemoryJournal();
    let isWriting = false;
    world.journal = Object.assign(Object.create(slow) as MemoryJournal, {
      append(...args: Parameters<MemoryJournal["append"]>): Promise<void> | undefined {
        slow.append(...args);
        if (isWriting || args[2][0]?.key.startsWith("spend:") !== true) return undefined;
        isWriting = true;
        return turns(10);
      },
    });
    const runtime = world.runtime();
    const run = runtime.run(lead, "", { runId: RUN });
    await until(() => isWriting);
    await runtime.close();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
    expect(world.sent).toBe(0);
    expect(world.cost).toBe(0);
    const result = await world.ends(lead);
    expect(world.sent).toBe(1);
    expect(world.cost).toBe(0.15);
    expect(cents(result.cost)).toBe(0.15);
  });

  test("T2: a call that is tried once, also with a layer that leaves it as it is or makes it smaller, writes its begin and its end", async () => {
    const world = new World();
    world.options = {
      pipelines: {
        chat: chat(async (context, core) => {
          context.request = { ...context.request, messages: context.request.messages.slice(0, 1) };
          await core();
        }),
      },
    };
    const request = { messages: [...ask("1").messages, ...ask("2").messages] };
    await world.ends(
      asking(
        world.model("m", async () => answer),
        request,
      ),
    );
    expect(world.records.filter(({ phase }) => phase !== "note").map(({ phase }) => phase)).toEqual([
      "begin",
      "end",
    ]);
    expect(world.records.filter(({ key }) => key.startsWith("spend:"))).toEqual([]);
  });
});

describe("T2: a decision settles no money", () => {
  test.each(["skip", "fail", "retry"] as const)(
    "T2: what a tool paid before somebody decided to %s stays charged, also when the run is resumed once more",
    async (decision) => {
      const world = new World();
      const model = world.model("m", async (n) => (n === 3 ? world.kill() : answer));
      const tool = thinking(async ({ llm }) => {
        for (const text of ["1", "2", "3"]) await llm(model, ask(text));
      });
      const lead = agent("lead", async (ctx) => {
        await ctx.tool(call, tool).catch(() => undefined);
        await ctx.waitFor("go");
        await ctx.llm(model, ask("last"));
        return done("");
      });
      world.agents.push(lead);
      await world.process(lead);
      const runtime = world.runtime();
      const decided = runtime.resume(RUN, { decisions: { "r:tool:think#1": decision } });
      await turns();
      const { cost } = world;
      const again = decision === "retry" ? 0.45 : 0;
      expect(cost, "two that were answered, one in flight").toBe(cents(0.5 + again));
      expect(world.ledger.used.toolCalls).toBe(1);
      await runtime.close();
      const { agents, cost: told, inDoubt } = await decided.result;
      expect(cents(told)).toBe(cost);
      expect(inDoubt, "the third call may have cost less").toEqual(["r:tool:think#1"]);
      expect((await runtime.inspect(RUN)).inDoubt).toEqual(inDoubt);
      const last = world.runtime();
      await last.deliver(RUN, "go", 1);
      const result = await last.resume(RUN).result;
      expect(world.cost).toBe(cents(cost + 0.15));
      expect(cents(result.cost)).toBe(cents(cost + 0.15));
      expect(result.inDoubt).toEqual(inDoubt);
      expect(world.ledger.used).toMatchObject({
        toolCalls: 1,
        turns: decision === "retry" ? 7 : 4,
      });
      expect(agents?.map(({ toolCalls }) => toolCalls)).toEqual([1]);
      expect(result.agents?.map(({ toolCalls }) => toolCalls)).toEqual([1]);
    },
  );
});

describe("T2: what is paid after the end of its effect is charged once", () => {
  /** Leaves calls behind, waits until they are over where that is said, and is resumed. */
  async function resumed(
    make: (world: World, late: PromiseWithResolvers<void>) => Agent,
    isOver: boolean,
  ): Promise<{ readonly world: World; readonly cost: number }> {
    const world = new World();
    const late = Promise.withResolvers<void>();
    const lead = make(world, late);
    world.agents.push(lead);
    const runtime = world.runtime();
    const run = runtime.run(lead, "", { runId: RUN });
    await turns();
    if (isOver) {
      late.resolve();
      await turns();
    }
    const records = cut(RUN, world.records);
    await runtime.close();
    await run.result;
    world.journal = records;
    const last = world.runtime();
    await last.deliver(RUN, "go", 1);
    const result = await last.resume(RUN).result;
    expect(result.status).toBe("completed");
    expect(cents(result.cost)).toBe(world.cost);
    return { world, cost: world.cost };
  }

  /** Its first call is not waited for, its second is. */
  const forgetful = (world: World, late: PromiseWithResolvers<void>): Agent => {
    const model = world.model("m", async (n) => (n === 1 ? late.promise.then(() => answer) : answer));
    const tool = thinking(async ({ llm }) => {
      llm(model, ask("1")).catch(() => undefined);
      await llm(model, ask("2"));
    });
    return agent("lead", async (ctx) => {
      await ctx.tool(call, tool);
      await ctx.waitFor("go");
      return done("");
    });
  };

  test("T2: a call that its tool did not wait for, as what it took", async () => {
    expect((await resumed(forgetful, true)).cost).toBe(0.3);
  });

  test("T2: one that was still under way at the crash, as what was set aside", async () => {
    expect((await resumed(forgetful, false)).cost).toBe(0.35);
  });

  test("T2: one that was sent while another was under way, which was answered and waited for", async () => {
    const later = (world: World, late: PromiseWithResolvers<void>): Agent => {
      const model = world.model("m", async (n) => (n === 2 ? late.promise.then(() => answer) : answer));
      const tool = thinking(async ({ llm }) => {
        const first = llm(model, ask("1"));
        llm(model, ask("2")).catch(() => undefined);
        await first;
      });
      return agent("lead", async (ctx) => {
        await ctx.tool(call, tool);
        await ctx.waitFor("go");
        return done("");
      });
    };
    expect((await resumed(later, true)).cost).toBe(0.3);
    expect((await resumed(later, false)).cost).toBe(0.35);
  });

  test("T2: one that was begun after its tool had ended", async () => {
    const late = (world: World, go: PromiseWithResolvers<void>): Agent => {
      const model = world.model("m", async () => answer);
      const tool = thinking(async ({ llm }) => {
        void go.promise.then(() => llm(model, ask("2")));
        await llm(model, ask("1"));
      });
      return agent("lead", async (ctx) => {
        await ctx.tool(call, tool);
        await ctx.waitFor("go");
        return done("");
      });
    };
    expect((await resumed(late, true)).cost).toBe(0.3);
    expect((await resumed(late, false)).cost).toBe(0.15);
  });

  /** A layer that gives up on a call, whose model goes on: it answers by itself, or fails. */
  const impatient =
    (isAnswered: boolean) =>
    (world: World, late: PromiseWithResolvers<void>): Agent => {
      const model = world.model("m", () => late.promise.then(() => answer));
      world.options = {
        pipelines: {
          chat: chat(async (context, core) => {
            await Promise.race([core(), turns(2)]);
            if (!isAnswered) throw new Error("it takes too long");
            context.result ??= answer;
          }),
        },
      };
      return agent("lead", async (ctx) => {
        await ctx.llm(model, ask("x")).catch(() => undefined);
        await ctx.waitFor("go");
        return done("");
      });
    };

  test.each([["answers by itself", true] as const, ["fails", false] as const])(
    "T2: a model call that a layer has given up on, which %s, as what it took, or was set aside for it",
    async (_, isAnswered) => {
      expect((await resumed(impatient(isAnswered), true)).cost).toBe(0.15);
      expect((await resumed(impatient(isAnswered), false)).cost).toBe(0.2);
    },
  );

  test("T2: the record of an end may come after that of a call which its bill does not contain", async () => {
    // As with a journal that puts large values elsewhere first.
    const world = new World();
    const late = Promise.withResolvers<void>();
    const lead = forgetful(world, late);
    world.agents.push(lead);
    const runtime = world.runtime();
    const run = runtime.run(lead, "", { runId: RUN });
    await turns();
    late.resolve();
    await turns();
    const isEnd = ({ key, phase }: JournalRecord): boolean => key.startsWith("tool:") && phase === "end";
    const records = [...world.records.filter((each) => !isEnd(each)), ...world.records.filter(isEnd)];
    await runtime.close();
    await run.result;
    world.journal = cut(RUN, records);
    const last = world.runtime();
    await last.deliver(RUN, "go", 1);
    await last.resume(RUN).result;
    expect(world.cost).toBe(0.3);
  });
});
