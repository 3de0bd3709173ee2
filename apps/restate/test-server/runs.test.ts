import {
  type Agent,
  AgentId,
  type BlobStore,
  defineTool,
  ExecId,
  type HistoryProvider,
  isRaviError,
  type JsonObject,
  type Logger,
  type RunEvent,
  RunId,
  type StandardSchema,
  type Supervision,
} from "@ravi/kernel";
import { createRunContext } from "@ravi/runtime";
import { restateRuntime } from "@ravi/runtime-restate";
import { scriptedModel } from "@ravi/testing";
import { SpawnTracker } from "@ravi/supervision";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RestateServer } from "../src/server.ts";
import { house } from "./house.ts";

let server: RestateServer;
beforeAll(async () => void (server = await RestateServer.start()));
afterAll(() => server.stop());

const ANYTHING: StandardSchema = {
  "~standard": {
    version: 1,
    vendor: "ravi",
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

const done = (output: string) => ({ status: "completed", output, stopReason: "done" }) as const;
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });

test("R24: what is said to a run right after its start is heard, and what is said to none is refused", async () => {
  const reader = agent("reader", async (ctx) => done(JSON.stringify(await ctx.waitFor("word"))));
  const runtime = await house(server).create({ agents: [reader] });
  const handle = runtime.run(reader, "", { runId: "angry-1" });
  await runtime.deliver("angry-1", "word", { deep: ["ü", null] });
  expect((await handle.result).output).toBe('{"deep":["ü",null]}');
  await expect(runtime.run(reader, "", { runId: "angry-1" }).result).rejects.toMatchObject({
    code: "INVALID_VALUE",
  });
  await expect(runtime.deliver("nobody", "word", 1)).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await expect(runtime.cancel("nobody", "why")).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await runtime.close();
});

test("R2: a child that nobody registered is carried by the worker that hires it; ids may hold anything that can be printed", async () => {
  const child = agent("kind #1 ä?&%", async (ctx, inbox) => done(`${ctx.agentId} ${inbox.input}`));
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: child, input: "' OR 1=1 --" });
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  const runtime = await house(server).create({ agents: [lead] });
  const runId = "it's/a %_run #2";
  expect((await runtime.run(lead, "", { runId }).result).output).toBe("kind #1 ä?&%/1 ' OR 1=1 --");
  expect((await runtime.resume(runId).result).status).toBe("completed");
  expect((await runtime.list()).some((run) => run.runId === runId)).toBe(true);
  await runtime.delete(runId);
  expect((await runtime.list()).some((run) => run.runId === runId)).toBe(false);
  await runtime.close();
});

test("J3: a client elsewhere follows a run over a crash of its worker, without gap or duplicate", async () => {
  const teller = agent("teller", async (ctx) => {
    for (let n = 0; n < 100; n++) ctx.emit({ type: "progress", name: "n", data: n });
    await ctx.waitFor("on");
    for (let n = 100; n < 200; n++) ctx.emit({ type: "progress", name: "n", data: n });
    return done("told");
  });
  const here = house(server);
  const first = await here.create({ agents: [teller] });
  const { ingress, admin } = server;
  const elsewhere = restateRuntime({ createContext: createRunContext, ingress, admin });
  const started = first.run(teller, "", { runId: "angry-2" });
  while (started.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
  const follower = elsewhere.resume("angry-2");
  const seen: RunEvent[] = [];
  const following = (async () => {
    for await (const event of follower.events()) seen.push(event);
  })();
  await here.crash(first);
  const second = await here.create({ agents: [teller] });
  await second.deliver("angry-2", "on", 1);
  expect((await second.resume("angry-2").result).output).toBe("told");
  await following;
  expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, at) => at + 1));
  const told = seen.flatMap(({ event }) => (event.type === "progress" ? [event.data] : []));
  expect(told).toEqual(Array.from({ length: 200 }, (_, n) => n));
  await elsewhere.close();
  await second.close();
});

test("J3: what a tool reports after its call is over, when it is between two calls, moves no number of the agent's events", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const starter = defineTool({
    name: "starter",
    description: "starts something that goes on after it",
    input: ANYTHING,
    execute: (_, { progress }) => {
      calls++;
      void promise.then(() => progress?.("late", calls));
      return "started";
    },
  });
  const teller = agent("teller", async (ctx) => {
    await ctx.tool({ id: "c", name: "starter", arguments: "{}" }, starter);
    resolve();
    await promise;
    for (let n = 0; n < 3; n++) ctx.emit({ type: "progress", name: "n", data: n });
    await ctx.waitFor("on");
    for (let n = 3; n < 6; n++) ctx.emit({ type: "progress", name: "n", data: n });
    return done("told");
  });
  const here = house(server);
  const first = await here.create({ agents: [teller] });
  const started = first.run(teller, "", { runId: "angry-late" });
  // The crash comes when the server has the first four events.
  let sent = 0;
  for await (const { event } of started.events()) if (event.type === "progress" && ++sent === 4) break;
  await here.crash(first);
  const second = await here.create({ agents: [teller] });
  const resumed = second.resume("angry-late");
  const seen = Array.fromAsync(resumed.events());
  await second.deliver("angry-late", "on", 1);
  expect((await resumed.result).output).toBe("told");
  const told = (await seen).flatMap(({ event }) => (event.type === "progress" ? [event.data] : []));
  // The first is the tool's, in the one call that it had.
  expect(told).toEqual([1, 0, 1, 2, 3, 4, 5]);
  await second.close();
});

test("J3: whoever closes his end while he looks on sees an end, and the run is not touched", async () => {
  const sleeper = agent("sleeper", async (ctx) => done(JSON.stringify(await ctx.waitFor("word"))));
  const here = house(server);
  const runtime = await here.create({ agents: [sleeper] });
  const handle = runtime.run(sleeper, "", { runId: "angry-3" });
  const looking = Array.fromAsync(handle.events());
  while (handle.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
  await runtime.close();
  expect(await looking).toBeInstanceOf(Array);
  expect((await handle.result).status).toBe("suspended");
  const second = await here.create({ agents: [sleeper] });
  await second.deliver("angry-3", "word", "up");
  expect((await second.resume("angry-3").result).output).toBe('"up"');
  await second.close();
});

test("R8: a deadline cuts off a wait that nobody ends, and a child's never outlives its parent's", async () => {
  const child = agent("child", async (ctx) => done(JSON.stringify(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: child, input: "" });
    return done(outcome.status);
  });
  const runtime = await house(server).create({ agents: [lead, child] });
  const { status, stopReason } = await runtime.run(lead, "", { executionBudget: { deadlineS: 0.3 } }).result;
  expect([status, stopReason]).toEqual(["partial", "deadline"]);
  await runtime.close();
});

test("R24: an outcome that the server would refuse for ever is the call's failure, and the run goes on", async () => {
  const big = defineTool({
    name: "big",
    description: "says more than anybody can carry",
    input: ANYTHING,
    execute: () => "x".repeat(9_000_000),
  });
  const eater = agent("eater", async (ctx) => {
    const [outcome] = await ctx.batch([
      { kind: "tool", call: { id: "c", name: "big", arguments: "{}" }, tool: big },
    ]);
    return done(outcome !== undefined && "error" in outcome ? outcome.error.code : "eaten");
  });
  const runtime = await house(server).create({ agents: [eater] });
  expect((await runtime.run(eater, "").result).output).toBe("INVALID_VALUE");
  await runtime.close();
});

test("R24: an agent that catches everything sees a suspension for what it is, and keeps its place all the same", async () => {
  const model = scriptedModel(() => "ok");
  const seen: string[] = [];
  const asks = (content: string): Agent =>
    agent("asks", async (ctx) => {
      try {
        await ctx.llm(model, { messages: [{ role: "user", content }] });
      } catch (error) {
        seen.push(isRaviError(error) ? error.code : String(error));
        return done("went on");
      }
      return done(`${content} ${JSON.stringify(await ctx.waitFor("on"))}`);
    });
  const here = house(server);
  const first = await here.create({ agents: [asks("old")] });
  const started = first.run(asks("old"), "", { runId: "angry-4" });
  while (started.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
  await here.crash(first);
  const changed = await here.create({ agents: [asks("new")] });
  const error = { code: "NON_DETERMINISM" };
  expect(await changed.resume("angry-4").result).toMatchObject({ status: "suspended", error });
  expect(new Set(seen)).toEqual(new Set(["SUSPENDED"]));
  await changed.close();
  const right = await here.create({ agents: [asks("old")] });
  await right.deliver("angry-4", "on", "again");
  expect((await right.resume("angry-4").result).output).toBe('old "again"');
  expect(model.calls).toHaveLength(1);
  await right.close();
});

test("R9: a run that no worker can carry is cancelled all the same, with everybody in it", async () => {
  const versioned = (version: string): Agent => ({
    id: AgentId("versioned"),
    version,
    run: async (ctx) => done(JSON.stringify(await ctx.waitFor("on"))),
  });
  const lead = (version: string): Agent => ({
    ...agent("lead", async (ctx) => done((await ctx.hire({ agent: versioned(version), input: "" })).status)),
    version,
  });
  const here = house(server);
  const first = await here.create({ agents: [lead("1"), versioned("1")] });
  const started = first.run(lead("1"), "", { runId: "angry-5" });
  while (started.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
  await here.crash(first);
  const newer = await here.create({ agents: [lead("2"), versioned("2")] });
  await newer.deliver("angry-5", "on", "on");
  await expect(newer.resume("angry-5").result).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  await newer.cancel("angry-5", "nobody has version 1 any more");
  const { status, error } = await newer.resume("angry-5").result;
  expect([status, error?.message]).toEqual([
    "cancelled",
    expect.stringContaining("nobody has version 1 any more"),
  ]);
  await newer.close();
});

test.each(["RaviExecution", "RaviWatcher"])(
  "R9: a run whose %s is cancelled at the server by hand is cancelled, and says so",
  async (service) => {
    const waiter = agent("waiter", async (ctx) => done(JSON.stringify(await ctx.waitFor("word"))));
    const runtime = await house(server).create({ agents: [waiter] });
    const runId = `by hand: ${service}`;
    const handle = runtime.run(waiter, "", { runId });
    while (handle.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
    const query = `SELECT id FROM sys_invocation WHERE target_service_name = '${service}' AND target_service_key = '${runId}'`;
    const headers = { accept: "application/json", "content-type": "application/json" };
    const asked = { method: "POST", headers, body: JSON.stringify({ query }) };
    const { rows } = (await (await fetch(`${server.admin}/query`, asked)).json()) as {
      rows: { id: string }[];
    };
    await fetch(`${server.admin}/invocations/${rows[0]?.id}/cancel`, { method: "PATCH" });
    const { status, error } = await handle.result;
    expect([status, error?.message]).toEqual(["cancelled", "cancelled: cancelled at the server"]);
    await runtime.close();
  },
);

test.each(["calls a model", "hires", "joins", "asks"])(
  "R24: an execution whose run was deleted meanwhile ends when it %s, without doing so, and is not tried for ever",
  async (next) => {
    const model = scriptedModel(() => "ok");
    const runId = `deleted: ${next}`;
    const isHeld = Promise.withResolvers<void>();
    const isFree = Promise.withResolvers<string>();
    const hold = defineTool({
      name: "hold",
      description: "",
      input: ANYTHING,
      idempotent: true,
      execute: () => {
        isHeld.resolve();
        return isFree.promise;
      },
    });
    const child = agent("child", async () => expect.fail("nobody is hired"));
    const helper = agent("helper", async () => done("helped"));
    const orphan = agent("orphan", async (ctx) => {
      const spawned = await ctx.spawn(helper, { input: "" });
      await ctx.tool({ id: "c1", name: "hold", arguments: "{}" }, hold);
      if (next === "hires") await ctx.hire({ agent: child, input: "" });
      else if (next === "joins") await ctx.join(spawned);
      else if (next === "asks") await ctx.ask(spawned, "?");
      else await ctx.llm(model, { messages: [{ role: "user", content: "hello" }] });
      return done("called");
    });
    const runtime = await house(server).create({ agents: [orphan] });
    const handle = runtime.run(orphan, "", { runId });
    await isHeld.promise;
    const headers = { accept: "application/json", "content-type": "application/json" };
    const post = async (path: string, body: object): Promise<Response> =>
      fetch(`${server.admin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    // As `delete` does to a run that is over, though one of its executions, on a worker that nobody reached, is not.
    const cleared = await post("/services/RaviRoot/state", { object_key: runId, new_state: {} });
    expect(cleared.ok).toBe(true);
    await expect(handle.result).rejects.toMatchObject({ code: "INVALID_VALUE", field: "runId" });
    isFree.resolve("free");
    const query = `SELECT status FROM sys_invocation WHERE target_service_key = '${runId}' AND target_service_name IN ('RaviExecution', 'RaviWatcher')`;
    const statuses = async (): Promise<string[]> => {
      const { rows } = (await (await post("/query", { query })).json()) as { rows: { status: string }[] };
      return rows.map(({ status }) => status);
    };
    while ((await statuses()).some((status) => status !== "completed"))
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(model.calls).toEqual([]);
    await runtime.close();
  },
);

test("R24: of all messages of a run, the server keeps nothing when they are answered", async () => {
  const model = scriptedModel(() => "ok");
  const talker = agent("talker", async (ctx) => {
    for (let n = 0; n < 3; n++) await ctx.llm(model, { messages: [{ role: "user", content: `${n}` }] });
    return done("said");
  });
  const runtime = await house(server).create({ agents: [talker] });
  const runId = "answered";
  const handle = runtime.run(talker, "", { runId });
  expect((await handle.result).output).toBe("said");
  await Array.fromAsync(handle.events());
  const query = `SELECT target_service_name AS service FROM sys_invocation WHERE target_service_key = '${runId}' AND status = 'completed'`;
  const headers = { accept: "application/json", "content-type": "application/json" };
  const asked = { method: "POST", headers, body: JSON.stringify({ query }) };
  const { rows } = (await (await fetch(`${server.admin}/query`, asked)).json()) as {
    rows: { service: string }[];
  };
  expect(rows.map(({ service }) => service).toSorted()).toEqual(["RaviExecution", "RaviWatcher"]);
  await runtime.close();
});

test("R24: a message to a tree that a deployment holds which is gone is moved to the newest, and keeps nobody out", async () => {
  const waiter = agent("waiter", async (ctx) => done(JSON.stringify(await ctx.waitFor("word"))));
  const held = Promise.withResolvers<void>();
  let isHolding = false;
  const headcount = ({ spawnBudget, agentId }: Supervision, snapshot?: JsonObject): SpawnTracker => {
    const tracker =
      snapshot === undefined
        ? new SpawnTracker(spawnBudget, { rootId: agentId })
        : SpawnTracker.restore(snapshot);
    if (!isHolding) return tracker;
    held.resolve();
    return Object.assign(tracker, { isPaused: () => new Promise<boolean>(() => {}) });
  };
  const here = house(server);
  const first = await here.create({ agents: [waiter], headcount });
  const started = first.run(waiter, "", { runId: "angry-6" });
  while (started.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
  const { ingress, admin } = server;
  const elsewhere = restateRuntime({ createContext: createRunContext, ingress, admin });
  isHolding = true;
  const delivered = elsewhere.deliver("angry-6", "word", "up");
  await held.promise;
  isHolding = false;
  const second = await here.create({ agents: [waiter], headcount });
  await here.crash(first);
  await delivered;
  expect((await second.resume("angry-6").result).output).toBe('"up"');
  await elsewhere.close();
  await second.close();
});

test("R23: whoever is not a child cannot be joined or asked, and that is said at once", async () => {
  const stranger = {
    runId: RunId("r"),
    execId: ExecId(RunId("r")),
    agentId: AgentId("a"),
    status: "running",
  } as const;
  const lead = agent("lead", async (ctx) => {
    const handle = { ...stranger, cancel: () => {} };
    const codes: string[] = [];
    for (const talk of [() => ctx.join(handle), () => ctx.ask(handle, "?")]) {
      try {
        await talk();
      } catch (error) {
        codes.push(isRaviError(error) ? error.code : String(error));
      }
    }
    return done(codes.join());
  });
  const runtime = await house(server).create({ agents: [lead] });
  expect((await runtime.run(lead, "").result).output).toBe("INVALID_VALUE,INVALID_VALUE");
  await runtime.close();
});

test("R24: what is on record but cannot be read is no outcome of a call: the run is suspended, and goes on later", async () => {
  const kept = new Map<string, Uint8Array>();
  let isDown = false;
  const blobs: BlobStore = {
    put: (bytes) => (kept.set(`blob ${kept.size}`, bytes), `blob ${kept.size - 1}`),
    get: (ref) => {
      if (isDown) throw new Error("the store is down");
      return kept.get(ref) ?? new Uint8Array();
    },
  };
  const big = defineTool({
    name: "big",
    description: "says much",
    input: ANYTHING,
    execute: () => "x".repeat(300_000),
  });
  const reader = agent("reader", async (ctx) => {
    const { content } = await ctx.tool({ id: "c", name: "big", arguments: "{}" }, big);
    return done(`${content.length} ${JSON.stringify(await ctx.waitFor("on"))}`);
  });
  const here = house(server, { blobs });
  const first = await here.create({ agents: [reader] });
  const started = first.run(reader, "", { runId: "angry-7" });
  while (started.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 2));
  await here.crash(first);
  isDown = true;
  const second = await here.create({ agents: [reader] });
  await second.deliver("angry-7", "on", 1);
  const { status, error } = await second.resume("angry-7").result;
  expect([status, error?.message]).toEqual(["suspended", expect.stringContaining("the store is down")]);
  isDown = false;
  expect((await second.resume("angry-7").result).output).toBe("300000 1");
  await second.close();
});

test("R24: a run whose history cannot be kept says so, and is over when it can", async () => {
  const kept: unknown[] = [];
  let isDown = true;
  const history: HistoryProvider = {
    load: () => ({ messages: [], head: 0 }),
    append: (_key, messages) => {
      if (isDown) throw new Error("the disk is full");
      kept.push(...messages);
    },
    clear: () => {},
  };
  const writer = agent("writer", async (ctx) => {
    await ctx.window();
    ctx.remember({ role: "user", content: "to be kept" });
    return done("written");
  });
  const runtime = await house(server, { history }).create({ agents: [writer] });
  const { status, error } = await runtime.run(writer, "", { runId: "angry-8" }).result;
  expect([status, error?.message]).toEqual(["suspended", expect.stringContaining("the disk is full")]);
  isDown = false;
  expect((await runtime.resume("angry-8").result).output).toBe("written");
  expect(kept).toHaveLength(1);
  await runtime.close();
});

test("J3: many large events are read to the end; one that the server could not carry is named in its place, and logged", async () => {
  const said: string[] = [];
  const log = (message: string): void => void said.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const mebibyte = "x".repeat(1024 * 1024);
  const teller = agent("teller", async (ctx) => {
    for (let n = 0; n < 24; n++) ctx.emit({ type: "progress", name: "large", data: mebibyte });
    ctx.emit({ type: "progress", name: "too large", data: mebibyte.repeat(33) });
    ctx.emit({ type: "progress", name: "after", data: null });
    return done("told");
  });
  const runtime = await house(server, { logger }).create({ agents: [teller] });
  const handle = runtime.run(teller, "");
  const events = await Array.fromAsync(handle.events(), ({ event }) => event);
  expect((await handle.result).output).toBe("told");
  const names = events.flatMap((event) => (event.type === "progress" ? [event.name] : []));
  expect(names).toEqual([...Array.from({ length: 24 }, () => "large"), "eventTooLarge", "after"]);
  expect(events).toContainEqual({
    type: "progress",
    name: "eventTooLarge",
    data: {
      type: "progress",
      bytes: 33 * 1024 * 1024 + '{"type":"progress","name":"too large","data":""}'.length,
    },
  });
  expect(said).toContainEqual(expect.stringContaining("the event progress too large has"));
  await runtime.close();
});
