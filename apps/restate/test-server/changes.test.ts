import {
  type Agent,
  AgentId,
  HookEvent,
  type Hooks,
  isRaviError,
  type JsonObject,
  type LLMClient,
  type Meter,
  Priority,
  type RunContext,
  type Supervision,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { SpawnTracker } from "@ravi/supervision";
import { scriptedModel } from "@ravi/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RestateServer } from "../src/server.ts";
import { house } from "./house.ts";

// Differences between two workers, or between two attempts of one: their code, their limits, and what was reported before.

let server: RestateServer;
beforeAll(async () => void (server = await RestateServer.start()));
afterAll(() => server.stop());

const done = (output: string) => ({ status: "completed", output, stopReason: "done" }) as const;
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
};
const ledger = ({ executionBudget, agentId }: Supervision): ExecutionTracker =>
  new ExecutionTracker(executionBudget, { scope: agentId });
const headcount = ({ spawnBudget, agentId }: Supervision, snapshot?: JsonObject): SpawnTracker =>
  snapshot === undefined
    ? new SpawnTracker(spawnBudget, { rootId: agentId })
    : SpawnTracker.restore(snapshot);

const model = scriptedModel(() => "ok");
const asks = (ctx: RunContext) => ctx.llm(model, { messages: [{ role: "user", content: "x" }] });
const waits = async (ctx: RunContext) => done(JSON.stringify(await ctx.waitFor("on")));
const helper = agent("helper", async () => done("helped"));

test.each<[string, Agent["run"]]>([
  [
    "records a fact first",
    async (ctx) => {
      await ctx.record("fact", () => 1);
      await asks(ctx);
      return waits(ctx);
    },
  ],
  ["leaves a call out", waits],
  [
    "hires instead of waiting",
    async (ctx) => {
      await asks(ctx);
      await ctx.hire({ agent: helper, input: "" });
      return waits(ctx);
    },
  ],
  [
    "ends before it waits",
    async (ctx) => {
      await asks(ctx);
      return done("early");
    },
  ],
])(
  "T6: a changed agent that %s is suspended and says why, and goes on where its old code is back",
  async (what, run) => {
    const before = model.calls.length;
    const runId = `changed: ${what}`;
    const old = agent("changes", async (ctx) => {
      await asks(ctx);
      return waits(ctx);
    });
    const here = house(server, { parkS: 1 });
    const first = await here.create({ agents: [old] });
    const started = first.run(old, "", { runId });
    await until(() => started.status === "suspended");
    await here.crash(first);
    const changed = await here.create({ agents: [agent("changes", run)] });
    await changed.deliver(runId, "on", "again");
    const { status, error } = await changed.resume(runId).result;
    expect([status, error?.code]).toEqual(["suspended", "NON_DETERMINISM"]);
    expect(error?.message).toContain("give the changed agent a new version");
    await here.crash(changed);
    const right = await here.create({ agents: [old] });
    expect((await right.resume(runId).result).output).toBe('"again"');
    expect(model.calls.length - before).toBe(1);
    await right.close();
  },
);

test("R18: a child that brings a ledger of its own is denied, for it would not be kept to it", async () => {
  const child = {
    ...agent("child", async () => done("did as it liked")),
    defaults: { executionBudget: new ExecutionTracker({ maxTurns: 1 }) },
  };
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: child, input: "" });
    return done("error" in outcome ? `${outcome.status} ${outcome.error.message}` : outcome.status);
  });
  const runtime = await house(server).create({ agents: [lead], ledger });
  expect((await runtime.run(lead, "").result).output).toMatch(/^denied child: defaults.executionBudget/);
  await runtime.close();
});

test("R24: a result that no message can carry has failed, and a fact or an input of that size is refused", async () => {
  const large = "x".repeat(26_000_000);
  const eater = agent("eater", async () => done(large));
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: eater, input: "" });
    const hired = await ctx.hire({ agent: helper, input: large });
    let fact = "recorded";
    try {
      await ctx.record("large", () => large);
    } catch (error) {
      fact = isRaviError(error) ? error.code : String(error);
    }
    const [one, two] = [outcome, hired].map((each) => ("error" in each ? each.error.code : each.status));
    return done([one, two, fact].join());
  });
  const runtime = await house(server).create({ agents: [lead] });
  expect((await runtime.run(lead, "").result).output).toBe("INVALID_VALUE,INVALID_VALUE,INVALID_VALUE");
  await runtime.close();
});

test("R24: a result that no message can carry is told as a failure to everybody, and as nothing else before", async () => {
  const eater = agent("eater", async () => done("x".repeat(26_000_000)));
  const told: string[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.RUN_END,
    dispatch: async (_, payload) => void told.push(String(Reflect.get(payload, "status"))),
  };
  const runtime = await house(server).create({ agents: [eater], hooks });
  const handle = runtime.run(eater, "");
  const events: string[] = [];
  for await (const { event } of handle.events()) events.push(event.type);
  expect((await handle.result).error?.code).toBe("INVALID_VALUE");
  expect([events, told]).toEqual([["started", "error"], ["failed"]]);
  await runtime.close();
});

test("R18: a worker without a ledger pays for nothing in a tree that is held to a limit, until one with it is back", async () => {
  const spender = agent("spender", async (ctx) => {
    await ctx.waitFor("on");
    for (let n = 0; n < 5; n++) await asks(ctx);
    return done("spent");
  });
  const here = house(server);
  const first = await here.create({ agents: [spender], ledger });
  const started = first.run(spender, "", { runId: "unkept", executionBudget: { maxTurns: 2 } });
  await until(() => started.status === "suspended");
  const said: string[] = [];
  const warn = (message: string): void => void said.push(message);
  const logger = { debug: () => {}, info: () => {}, warn, error: warn };
  const careless = await house(server, { logger }).create({ agents: [spender] });
  const before = model.calls.length;
  const delivered = careless.deliver("unkept", "on", 1);
  await until(() => started.status === "completed" || said.some((line) => line.includes("with a ledger")));
  const right = await here.create({ agents: [spender], ledger });
  await delivered;
  expect(await right.resume("unkept").result).toMatchObject({ status: "partial", stopReason: "budget" });
  expect(model.calls.length - before).toBeLessThanOrEqual(2);
  for (const runtime of [first, careless, right]) await runtime.close();
});

test("R21: that a seat was lost and given back is told once, also where the agent is replayed", async () => {
  const told: string[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.PREEMPTED || event === HookEvent.RESUMED,
    dispatch: (event) => void told.push(event),
    drain: () => {},
  };
  const low = agent("low", async (ctx) => {
    await ctx.waitFor("x");
    await ctx.check();
    return done(JSON.stringify(await ctx.waitFor("z")));
  });
  let isHighIn = false;
  const high = agent("high", async (ctx) => {
    isHighIn = true;
    return done(JSON.stringify(await ctx.waitFor("y")));
  });
  const lead = agent("lead", async (ctx) => {
    const one = await ctx.spawn(low, { input: "", priority: Priority.LOW });
    await ctx.waitFor("w");
    const two = await ctx.spawn(high, { input: "", priority: Priority.HIGH });
    await ctx.join(two);
    return done((await ctx.join(one)).status);
  });
  const here = house(server);
  const agents = [lead, low, high];
  const first = await here.create({ agents, headcount, hooks });
  first.run(lead, "", { runId: "told", spawnBudget: { maxAgents: 2 } });
  await first.deliver("told", "w", 1);
  await until(() => isHighIn);
  await first.deliver("told", "x", 1);
  await until(() => told.length === 1);
  await first.deliver("told", "y", 1);
  await until(() => told.length === 2);
  await here.crash(first);
  const second = await here.create({ agents, headcount, hooks });
  await second.deliver("told", "z", 1);
  expect((await second.resume("told").result).output).toBe("completed");
  expect(told).toEqual([HookEvent.PREEMPTED, HookEvent.RESUMED]);
  await second.close();
});

test.each(["made again", "cancelled"])(
  "R18: what was set aside for a call in flight is in the result of a run that crashed and was %s",
  async (how) => {
    const begun = Promise.withResolvers<void>();
    const silent: LLMClient = {
      id: "silent",
      info: { provider: "p", model: "m" },
      generate: () => (begun.resolve(), new Promise(() => {})),
    };
    const caller = (client: LLMClient): Agent =>
      agent("caller", async (ctx) => {
        await ctx.llm(client, { messages: [{ role: "user", content: "x" }] });
        return done("answered");
      });
    const meter: Meter = {
      estimate: () => ({ inputTokens: 90, maxOutputTokens: 10, price: { usd: 1 } }),
      price: () => ({ usd: 0.1 }),
    };
    const runId = `in flight: ${how}`;
    const here = house(server);
    const first = await here.create({ agents: [caller(silent)], ledger, meter });
    first.run(caller(silent), "", { runId, executionBudget: { maxCostUsd: 5 } });
    await begun.promise;
    await here.crash(first);
    const answering = { ...silent, generate: model.generate.bind(model) };
    const second = await here.create({ agents: [caller(answering)], ledger, meter });
    if (how === "cancelled") await second.cancel(runId, "enough");
    const { cost, inDoubt, agents = [] } = await second.resume(runId).result;
    expect(inDoubt).toEqual([`${runId}:llm:silent#1`]);
    expect([cost, agents[0]?.costUsd, agents[0]?.wasteUsd]).toEqual(
      how === "cancelled" ? [1, 1, 1] : [1.1, 1.1, 1],
    );
    await second.close();
  },
);
