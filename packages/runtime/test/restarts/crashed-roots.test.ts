import { describe, expect, test } from "vitest";
import { HookEvent, type Hooks, type Logger, type RestartPolicy, RunId } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { agent, ask, done } from "../support/helpers.ts";

test("R17: whom a root had hired that crashed and is not started again was cancelled with it", async () => {
  const child = agent("child", async (ctx) => done(String(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(child, { input: "" });
    throw new Error("a bug");
  });
  const restart = { shouldRetry: () => false, delayMs: () => 0, reset() {} };
  const { result } = new Runtime({ journal: new MemoryJournal(), restart }).run(lead, "");
  const { status, agents } = await result;
  expect(status).toBe("failed");
  expect(agents?.map((each) => each.status)).toEqual(["failed", "cancelled"]);
});

test("R21: after a crash that is not restarted, the agents below have ended: it is told, and on record", async () => {
  const told: string[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, { agentName }) => void told.push(`${event} ${agentName}`),
  };
  const child = agent("child", async (ctx) => done(String(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(child, { input: "" });
    throw new TypeError("a bug");
  });
  const restart = { shouldRetry: () => false, delayMs: () => 0, reset() {} };
  const journal = new MemoryJournal();
  const ends: string[] = [];
  const result = await new Runtime({ journal, restart, hooks }).run(lead, "", {
    runId: "r",
    onEvent: ({ agentId, event }) => void (event.type === "error" && ends.push(agentId)),
  }).result;
  expect(result).toMatchObject({ status: "failed", agents: [{}, { status: "cancelled" }] });
  expect(told).toEqual(["run_start lead", "run_start child", "run_end child", "run_end lead"]);
  expect(ends).toEqual(["child/1", "lead"]);
  const [end] = journal
    .load(RunId("r"))
    .filter(({ phase, key }) => phase === "end" && key.startsWith("hire:"));
  expect(end?.body).toMatchObject({ status: "cancelled" });
});

test("R21: a runtime that is closed while a crashed root's agents are being stopped suspends none of them", async () => {
  const told: string[] = [];
  const closing: Promise<void>[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, { agentName }) => void told.push(`${event} ${agentName}`),
  };
  const child = agent("child", async (ctx) => {
    ctx.signal.addEventListener("abort", () => void closing.push(runtime.close()));
    return done(String(await ctx.waitFor("never")));
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(child, { input: "" });
    throw new TypeError("a bug");
  });
  const runtime = new Runtime({ journal: new MemoryJournal(), hooks });
  const { status, agents } = await runtime.run(lead, "").result;
  await Promise.all(closing);
  expect([status, agents?.map((one) => one.status)]).toEqual(["failed", ["failed", "cancelled"]]);
  expect(told).toEqual(["run_start lead", "run_start child", "run_end child", "run_end lead"]);
});

test("R21: a crashed root whose journal is lost while its agents are stopped is not restarted, though the policy has agreed", async () => {
  const inner = new MemoryJournal();
  const lost = Promise.withResolvers<void>();
  const journal = Object.assign(Object.create(inner) as MemoryJournal, {
    append(...given: Parameters<MemoryJournal["append"]>) {
      return given[2].some(({ key }) => key.startsWith("record:x")) ? lost.promise : inner.append(...given);
    },
  });
  let [starts, asked] = [0, 0];
  const child = agent("child", async (ctx) => done(String(await ctx.record("x", () => 1))));
  const lead = agent("lead", async (ctx) => {
    starts++;
    await ctx.spawn(child, { input: "" });
    throw new TypeError("a bug");
  });
  const shouldRetry = (): boolean => {
    asked++;
    lost.reject(new Error("the disk is full"));
    return true;
  };
  const runtime = new Runtime({ journal, restart: { shouldRetry, delayMs: () => 0, reset() {} } });
  const outcome = await runtime.run(lead, "").result.then(
    ({ status }) => status,
    (error: unknown) => String(error),
  );
  expect([starts, asked, outcome]).toEqual([1, 1, expect.stringContaining("the disk is full")]);
});

test("R17: a run in which somebody else than the root crashes goes on, also if the runtime restarts crashed roots", async () => {
  const restart = { shouldRetry: () => true, delayMs: () => 0, reset: () => {} };
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  const broken = agent("broken", async (ctx) => {
    await ctx.spawn(waiting, { input: "" });
    throw new RangeError("no");
  });
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: broken, input: "" })).status));
  const runtime = new Runtime({ journal: new MemoryJournal(), restart });
  const result = await runtime.run(lead, "").result;
  expect(result).toMatchObject({ status: "completed", output: "failed" });
  expect(result.agents?.map(({ status }) => status)).toEqual(["completed", "failed", "cancelled"]);
});

const broken = (): never => {
  throw new Error("no policy today");
};

const once = (): (() => boolean) => {
  let asked = 0;
  return () => ++asked === 1;
};

const POLICY: RestartPolicy = { shouldRetry: () => true, delayMs: () => 0, reset() {} };

describe("R17: a restart policy that throws, or gives no delay", () => {
  test.each<[string, Partial<RestartPolicy>]>([
    ["when it is asked", { shouldRetry: broken }],
    ["when it is asked how long to wait", { delayMs: broken }],
    ["when it gives a delay that never ends", { shouldRetry: once(), delayMs: () => Infinity }],
    ["when it gives a delay that is no number", { shouldRetry: once(), delayMs: () => Number.NaN }],
    ["when it is told to forget", { shouldRetry: () => false, reset: broken }],
  ])("%s: the run ends with what its agent threw, and that is on record", async (_, part) => {
    const said: string[] = [];
    const say = (message: string): void => void said.push(message);
    const logger: Logger = { debug() {}, info() {}, warn: say, error: say };
    const runtime = new Runtime({ journal: new MemoryJournal(), restart: { ...POLICY, ...part }, logger });
    const failing = agent("a", async () => {
      throw new Error("out of order");
    });
    const { result, runId } = runtime.run(failing, "");
    const { status, error } = await result;
    expect({ status, message: error?.message }).toEqual({
      status: "failed",
      message: "a failed: out of order",
    });
    expect(await runtime.list()).toMatchObject([{ runId, status: "failed" }]);
    expect(said).toEqual([`the restart policy failed; ${runId} is not restarted`]);
  });

  test("R17: and one whose agent has done its work keeps its result", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), restart: { ...POLICY, reset: broken } });
    const { result } = runtime.run(
      agent("a", async () => done("fine")),
      "",
    );
    expect(await result).toMatchObject({ status: "completed", output: "fine" });
  });
});

test("T5: a root that crashes several times pays for no call twice: each attempt goes on from the record of all before it", async () => {
  const model = scriptedModel((_, call) => `answer ${call}`);
  const restart: RestartPolicy = { shouldRetry: () => true, delayMs: (attempt) => attempt, reset() {} };
  const told: object[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.RETRY,
    dispatch: (_, payload) => void told.push(payload),
  };
  let goes = 0;
  const heard: string[][] = [];
  const lead = agent("lead", async (ctx) => {
    const go = ++goes;
    const answers: string[] = [];
    heard.push(answers);
    for (let n = 1; n <= go; n++)
      answers.push(String((await ctx.llm(model, ask(`question ${n}`))).message.content));
    if (go < 4) throw new TypeError("a bug");
    return done(answers.join());
  });
  const { result } = new Runtime({ journal: new MemoryJournal(), restart, hooks }).run(lead, "");
  expect(await result).toMatchObject({ status: "completed", agents: [{ modelCalls: 4 }] });
  const error = { message: expect.stringContaining("a bug") };
  expect(told).toMatchObject([1, 2, 3].map((attempt) => ({ attempt, delayMs: attempt, error })));
  expect(model.calls).toHaveLength(4);
  expect(heard.map((answers) => answers.length)).toEqual([1, 2, 3, 4]);
  for (const answers of heard) expect(heard[3]?.slice(0, answers.length)).toEqual(answers);
});

test("R17: on a clock without timers a root is started again at once, whatever its policy would wait", async () => {
  let goes = 0;
  const lead = agent("lead", async () => {
    if (++goes === 1) throw new TypeError("a bug");
    return done("");
  });
  const restart: RestartPolicy = { shouldRetry: () => true, delayMs: () => 60_000, reset() {} };
  const clock = { now: () => 0 };
  const { result } = new Runtime({ clock, journal: new MemoryJournal({ clock }), restart }).run(lead, "");
  expect((await result).status).toBe("completed");
});
