import { getEventListeners, once } from "node:events";
import { connect } from "node:http2";
import {
  type Agent,
  AgentId,
  errorToJSON,
  HookEvent,
  type Hooks,
  InvalidValueError,
  type Pipelines,
  type RootHandle,
} from "@ravi/kernel";
import { describe, expect, expectTypeOf, test } from "vitest";
import { resultOf } from "../src/client/result.ts";
import { restateRuntime, type RestateRuntime } from "../src/index.ts";
import { begin, checkKeepers, refusalOf, startedBefore } from "../src/root/decide.ts";
import { childLaunch, rootLaunch } from "./fakes.ts";
import { createContext, OVER, played } from "./played.ts";
import { admission, over, PORTS, StoredTree } from "./tree.ts";

const agent: Agent = {
  id: AgentId("a"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};

describe("a caller's signal", () => {
  test("R9: a run whose caller has given it up before is stopped by the very message that starts it", async () => {
    await played({ start: { isNew: true }, stop: { deaf: [] }, standings: OVER }, async (runtime, asked) => {
      await runtime.run(agent, "", { signal: AbortSignal.abort("too late") }).result;
      expect(asked.get("start")).toMatchObject({ stopped: { reason: "too late" } });
    });
  });

  test("R9: it is left alone when the result is there, of a run and of one that is resumed", async () => {
    await played({ start: { isNew: true }, standings: OVER, query: { rows: [] } }, async (runtime) => {
      const { signal } = new AbortController();
      const handles = [runtime.run(agent, "", { signal }), runtime.resume("r", { signal })];
      expect(getEventListeners(signal, "abort")).toHaveLength(2);
      for (const { result } of handles) expect(await result).toMatchObject({ output: "done" });
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    });
  });

  test("R9: what was not started is not stopped: it may be the run of somebody else under that id", async () => {
    await played({ start: { isNew: false }, stop: { deaf: [] } }, async (runtime, asked) => {
      const handle = runtime.run(agent, "", { runId: "taken", signal: AbortSignal.abort("no") });
      await expect(handle.result).rejects.toMatchObject({ code: "INVALID_VALUE" });
      handle.cancel("no");
      await runtime.deliver("taken", "word", 1);
      expect([...asked.keys()]).toEqual(["start", "deliver"]);
    });
  });

  test("R24: an answer goes out under its giver's id, which counts for its name alone", async () => {
    await played({}, async (runtime, asked) => {
      await runtime.deliver("r", "word", 1, { id: "click-1" });
      expect(asked.get("deliver")).toMatchObject({ id: "word#click-1", name: "word", value: 1 });
      await expect(runtime.deliver("r", "word", 1, { id: "" })).rejects.toMatchObject({
        code: "INVALID_VALUE",
      });
      const misspelt = { key: "click-1" };
      await expect(runtime.deliver("r", "word", 1, misspelt as never)).rejects.toThrow(
        /no field of that name/,
      );
    });
  });

  test("J4: a pipeline at a level that there is not is refused, and not left out", () => {
    const pipelines = { chats: {} } as Pipelines;
    const make = (): unknown =>
      restateRuntime({
        createContext,
        pipelines,
        ingress: "http://localhost:1",
        admin: "http://localhost:2",
      });
    expect(make).toThrow(
      /^runtime options\.pipelines\.chats is .*; known fields: agent, chat, function; did you mean chat\?$/,
    );
  });

  test("R9: something else than a signal is refused", async () => {
    await played({}, async (runtime) => {
      const signal = new AbortController() as never;
      expect(() => runtime.run(agent, "", { signal })).toThrow(
        expect.objectContaining({ code: "INVALID_VALUE" }),
      );
    });
  });
});

describe("a start", () => {
  const spoken = (more: object) => ({ at: 0, launch: rootLaunch(), nonce: "n", ...more });

  test("R18: a limit that no worker keeps is refused, and one that is kept or was not asked for is not", () => {
    const unkept = { code: "INVALID_VALUE" };
    expect(refusalOf({}, spoken({ launch: rootLaunch({ maxTurns: 1 }) }))).toMatchObject(unkept);
    expect(refusalOf({}, spoken({ spawns: { maxAgents: 2 } }))).toMatchObject(unkept);
    expect(refusalOf({}, spoken({ spawns: { maxDepth: 2 } }))).toBe(undefined);
    expect(refusalOf(PORTS, spoken({ spawns: { maxAgents: 2 }, launch: rootLaunch({ maxTurns: 1 }) }))).toBe(
      undefined,
    );
  });

  test("R18: the caller is told why, and the seats that were asked for are named to the worker", async () => {
    const refused = errorToJSON(new InvalidValueError({ field: "f", value: 1, expected: "a ledger" }));
    await played({ start: { isNew: false, refused } }, async (runtime, asked) => {
      const handle = runtime.run(agent, "", { spawnBudget: { maxAgents: 2 } });
      await expect(handle.result).rejects.toMatchObject({
        code: "INVALID_VALUE",
        message: expect.stringContaining("a ledger"),
      });
      expect(asked.get("start")).toMatchObject({ spawns: { maxAgents: 2 } });
    });
  });

  test("R24: one whose answer was lost is said again, and finds its own run; somebody else's is refused", async () => {
    await played({ start: { isNew: true }, standings: OVER }, async (runtime, asked) => {
      await runtime.run(agent, "", { runId: "run" }).result;
      const { nonce } = asked.get("start") as { readonly nonce: string };
      const { state } = await begin(PORTS, spoken({ nonce }));
      expect(startedBefore(state, { nonce })).toEqual({ isNew: true });
      expect(startedBefore(state, { nonce: "another" })).toEqual({ isNew: false });
    });
  });

  test("R18: a worker that keeps no limits does not speak for a tree that is held to some", async () => {
    const { state } = await begin(PORTS, spoken({ launch: rootLaunch({ maxTurns: 1 }) }));
    const { headcount, ledger } = PORTS;
    expect(() => checkKeepers(state, { headcount })).toThrow(/ledger/);
    expect(() => checkKeepers(state, { ledger })).toThrow(/headcount/);
    expect(() => checkKeepers(state, PORTS)).not.toThrow();
    const free = await begin({}, spoken({}));
    expect(() => checkKeepers(free.state, {})).not.toThrow();
  });

  test("R9: one that was given up stops its tree before anybody enters it", async () => {
    const stopped = { reason: "too late" };
    const { state, outbox } = await begin(PORTS, spoken({ stopped }));
    expect(state.execs["run"]?.stopped).toEqual(stopped);
    expect(outbox.launched).toHaveLength(1);
  });

  test.each([
    ["tenantId", 7],
    ["userId", {}],
    ["metadata", []],
    ["metadata", { user: { id: 7n } }],
    ["maxTurns", 1],
  ])("R24: the option %s of another kind is refused by name", async (name, value) => {
    await played({}, async (runtime) => {
      expect(() => runtime.run(agent, "", { [name]: value })).toThrow(name);
    });
  });

  test("R24: a version that is registered is the one that runs, and another is refused", async () => {
    await played({ start: { isNew: true }, standings: OVER }, async (runtime, asked) => {
      runtime.register({ ...agent, version: "2" });
      await runtime.run(agent, "", { version: "2" }).result;
      expect(asked.get("start")).toMatchObject({ launch: { agent: "a@2" } });
      expect(() => runtime.run(agent, "", { version: "3" })).toThrow(/a@3/);
    });
  });
});

test("R21: a layer around a root can tell the agent's own hooks", async () => {
  const told: string[] = [];
  const hooks: Hooks = { has: () => true, dispatch: (event) => void told.push(event), drain: () => {} };
  const layer: Pipelines["agent"] = {
    isNoop: false,
    admit: (context) => void context.hooks.dispatch(HookEvent.RETRY, {} as never),
    run: (_context, core) => core(),
  };
  await played({ start: { isNew: true }, standings: OVER }, async (runtime) => {
    await runtime.run({ ...agent, hooks, pipelines: { agent: layer } }, "").result;
    expect(told).toEqual([HookEvent.RETRY]);
  });
});

test("J5: a layer around a root sees for whom it is to work, in a copy of its own", async () => {
  const metadata = { tags: ["a"] };
  const seen: unknown[] = [];
  const layer: Pipelines["agent"] = {
    isNoop: false,
    admit: ({ scope }) => void seen.push(scope),
    run: (_context, core) => core(),
  };
  await played({ start: { isNew: true }, standings: OVER }, async (runtime) => {
    const guarded = { ...agent, pipelines: { agent: layer } };
    await runtime.run(guarded, "", { userId: "alice", metadata }).result;
    expect(seen).toMatchObject([{ userId: "alice", tenantId: null, metadata: { tags: ["a"] } }]);
    expect(Object.isFrozen(metadata.tags)).toBe(false);
  });
});

test("R24: a layer around a root sees what comes with its input; if it refuses the run, the server is not sent it", async () => {
  const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
  const seen: unknown[] = [];
  let mayRun = true;
  const layer: Pipelines["agent"] = {
    isNoop: false,
    admit(context) {
      seen.push(context.attachments);
      if (!mayRun) context.result = { status: "partial", output: "no pictures", stopReason: "done" };
    },
    run: (_context, core) => core(),
  };
  const guarded = { ...agent, pipelines: { agent: layer } };
  await played({ start: { isNew: true }, standings: OVER }, async (runtime, asked) => {
    await runtime.run(guarded, "", { attachments: [picture] }).result;
    expect(asked.get("start")).toMatchObject({ launch: { attachments: [picture] } });
    mayRun = false;
    await runtime.run(guarded, "", { attachments: [picture] }).result;
    expect(asked.get("start")).toMatchObject({ launch: { refused: { status: "partial" } } });
    expect(JSON.stringify(asked.get("start"))).not.toContain("AAAA");
  });
  expect(seen).toEqual([[picture], [picture]]);
});

test("J3: what there is of a run that cannot be followed has an end", async () => {
  const missing = { known: false, version: 0, status: "pending" };
  const answers = {
    resume: {},
    query: { rows: [] },
    standings: missing,
    read: { events: [], isClosed: false },
  };
  await played(answers, async (runtime) => {
    const handle = runtime.resume("nobody");
    await expect(handle.result).rejects.toMatchObject({ code: "INVALID_VALUE" });
    expect(await Array.fromAsync(handle.events())).toEqual([]);
  });
});

test("J3: the events of a run that was forgotten after its end have an end, too", async () => {
  const answers: Record<string, unknown> = {
    start: { isNew: true },
    standings: OVER,
    read: { events: [], isClosed: false },
  };
  await played(answers, async (runtime) => {
    const handle = runtime.run(agent, "");
    await handle.result;
    answers["standings"] = { known: false, version: 0, status: "pending" };
    expect(await Array.fromAsync(handle.events())).toEqual([]);
  });
});

test("R24: what cannot be said to a run is refused before it is sent, also by a client that is closed", async () => {
  const refused = { code: "INVALID_VALUE" };
  await played({ deliver: null, stop: { deaf: [] } }, async (runtime, asked) => {
    for (const value of [undefined, 1n, () => {}])
      await expect(runtime.deliver("r", "word", value as never)).rejects.toMatchObject(refused);
    await expect(runtime.deliver("r", "word", "x".repeat(24 * 1024 * 1024))).rejects.toMatchObject(refused);
    await expect(runtime.deliver("r", 7 as never, 1)).rejects.toMatchObject(refused);
    await expect(runtime.cancel("r", undefined as never)).rejects.toMatchObject(refused);
    await runtime.close();
    await expect(runtime.deliver("r", "word", 1)).rejects.toMatchObject(refused);
    await expect(runtime.cancel("r", "why")).rejects.toMatchObject(refused);
    expect(asked.size).toBe(0);
  });
});

test("R24: a server whose administration is not reached is a typed error that says where it was looked for", async () => {
  const url = "http://127.0.0.1:1";
  await using runtime = restateRuntime({ createContext, ingress: url, admin: url });
  const error = { code: "TOOL_ERROR", retryable: true, message: expect.stringContaining(url) };
  await expect(runtime.list()).rejects.toMatchObject(error);
  await expect(runtime.deploy("http://127.0.0.1:2")).rejects.toMatchObject(error);
});

test.each(["callTimeoutS", "retentionS", "parkS"])("R24: %s is a time", (name) => {
  const url = "http://127.0.0.1:1";
  for (const value of [Number.NaN, Infinity, 0, -1, "900"])
    expect(() => restateRuntime({ createContext, ingress: url, admin: url, [name]: value })).toThrow(name);
});

test("a handle has the type of its agent's answer, of a union of agents too", () => {
  const ask = (runtime: RestateRuntime, asked: Agent<number> | Agent<string>) => runtime.run(asked, "?");
  expectTypeOf(ask).returns.toEqualTypeOf<RootHandle<number | string>>();
  const askFor = <T>(runtime: RestateRuntime, asked: Agent<T>): RootHandle<T> => runtime.run(asked, "?");
  expectTypeOf(askFor<number>).returns.toEqualTypeOf<RootHandle<number>>();
});

test("R24: whether to stream is true or false", () => {
  const url = "http://127.0.0.1:1";
  // @ts-expect-error a word
  expect(() => restateRuntime({ createContext, ingress: url, admin: url, stream: "no" })).toThrow(
    /runtime options\.stream/,
  );
});

test("R24: a misspelt decision reaches no server", async () => {
  await played({}, async (runtime, asked) => {
    const decisions = { "run:tool:pay#1": "rety" as "retry" };
    await expect(runtime.resume("run", { decisions }).result).rejects.toMatchObject({
      code: "INVALID_VALUE",
    });
    expect(asked.size).toBe(0);
  });
});

test("R18: the limits of a result are those that counted in the end, with what was granted to anybody", async () => {
  const tree = await StoredTree.start(rootLaunch({ maxTurns: 10 }));
  const launch = childLaunch(rootLaunch(), "run/hire:a", "a");
  const terms = { key: "hire:a", agentId: "a", priority: null, budget: null, onFull: "deny" } as const;
  await tree.say("hire", { execId: "run", lane: 1, launch, ...terms });
  for (const execId of ["run", "run/hire:a"])
    await tree.say("raise", { execId, lane: 2, key: "raise#1", more: { turns: 2, cost: 1 } });
  await tree.say("over", over("run/hire:a"));
  await tree.say("over", over("run"));
  const { limits } = resultOf("run" as never, tree.standings) ?? {};
  expect(limits?.executionBudget).toMatchObject({ maxTurns: 14, maxCostUsd: null });
  expect(limits?.spawnBudget).toMatchObject({ maxAgents: 50 });
});

test("R18: a limit that was passed is in the result, also of a run that is suspended while a helper lives", async () => {
  const tree = await StoredTree.start(rootLaunch({ maxTurns: 3 }));
  const launch = childLaunch(rootLaunch(), "run/hire:a", "a");
  const terms = { key: "hire:a", agentId: "a", priority: null, budget: null, onFull: "deny" } as const;
  await tree.say("hire", { execId: "run", lane: 1, launch, ...terms });
  const { reserved = "" } = await tree.say("admit", admission("run/hire:a", 1, "llm#1", "n"));
  const settle = [{ id: reserved, actual: { turns: 7 } }];
  await tree.say("admit", { ...admission("run/hire:a", 2, "llm#2", "m"), settle });
  const error = { code: null, name: "E", message: "", retryable: false, fields: {}, cause: null } as const;
  await tree.say("doubt", { execId: "run/hire:a", lane: 3, key: "tool#1", awakeable: "a", error });
  const passed = [{ dimension: "turns", used: 7, limit: 3, scope: "lead" }];
  expect(resultOf("run" as never, tree.standings)).toMatchObject({ status: "suspended", exceeded: passed });
  await tree.say("over", over("run/hire:a"));
  await tree.say("over", over("run"));
  expect(resultOf("run" as never, tree.standings)).toMatchObject({ status: "completed", exceeded: passed });
});

test("R18: what a settlement leaves out is kept as it was reserved", async () => {
  const tree = await StoredTree.start(rootLaunch({ maxTurns: 3 }));
  const reserve = { turns: 1, tokens: 10, cost: 0.5 };
  const { reserved = "" } = await tree.say("admit", { ...admission("run", 1, "llm#1", "n"), reserve });
  const settle = [{ id: reserved, actual: { turns: 1, tokens: 4 } }];
  await tree.say("admit", { ...admission("run", 2, "llm#2", "m"), settle });
  expect(tree.state.execs["run"]?.own).toEqual({ turns: 1, tokens: 4, cost: 0.5, toolCalls: 0 });
});

test("R24: a worker that is given keys of its servers refuses what none of them has signed, and wants real ones", async () => {
  const options = { createContext, ingress: "http://localhost:1", admin: "http://localhost:1" };
  for (const identityKeys of [[], [""], ["a secret"], "publickeyv1_x"])
    expect(() => restateRuntime({ ...options, identityKeys: identityKeys as string[] })).toThrow(
      /publickeyv1_/,
    );
  const key = "publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9";
  const answers: unknown[] = [];
  for (const identityKeys of [undefined, [key]]) {
    await using worker = restateRuntime({ ...options, identityKeys });
    const { port } = await worker.listen({ host: "127.0.0.1", port: 0 });
    const session = connect(`http://127.0.0.1:${port}`);
    const accept = "application/vnd.restate.endpointmanifest.v4+json";
    const request = session.request({ ":path": "/discover", accept });
    answers.push((await once(request, "response"))[0][":status"]);
    session.destroy();
  }
  expect(answers).toEqual([200, 401]);
});

test("a call is cut off a minute after its time: the server waits for one timeout after the other", async () => {
  await using worker = restateRuntime({
    createContext,
    ingress: "http://localhost:8080",
    admin: "http://localhost:9070",
    callTimeoutS: 120,
  });
  const { port } = await worker.listen({ host: "127.0.0.1", port: 0 });
  const session = connect(`http://127.0.0.1:${port}`);
  const accept = "application/vnd.restate.endpointmanifest.v4+json";
  const told = await Array.fromAsync(session.request({ ":path": "/discover", accept }));
  session.destroy();
  const { services } = JSON.parse(told.join("")) as {
    readonly services: readonly Readonly<Record<string, unknown>>[];
  };
  const timed = services.filter(({ abortTimeout }) => abortTimeout !== undefined);
  expect(timed.length).toBeGreaterThan(0);
  for (const { inactivityTimeout, abortTimeout } of timed)
    expect([inactivityTimeout, abortTimeout]).toEqual([60_000, 120_000]);
});
