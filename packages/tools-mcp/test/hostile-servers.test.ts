import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Clock } from "@ravi/kernel";
import { openMcp } from "@ravi/tools-mcp";
import { type VirtualClock, virtualClock } from "@ravi/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LIMITS } from "../src/limits.ts";
import { ask, failureOf, isAlive, server, told, underWay } from "./support.ts";

// The clocks stand still where a limit is one of time: then it does not matter how fast the machine is.

const IN_DOUBT = "; the call may have been carried out";
const lost = (why: string): string =>
  `error: the connection to the MCP server "raw" was lost (${why})${IN_DOUBT}`;

/** The clock, and the moment at which its first timer is set. */
function watching(clock: VirtualClock): { readonly watched: Clock; readonly timer: Promise<void> } {
  const { promise: timer, resolve } = Promise.withResolvers<void>();
  const setTimer: VirtualClock["setTimer"] = (callback, delayMs) => {
    resolve();
    return clock.setTimer(callback, delayMs);
  };
  return { watched: { now: () => clock.now(), setTimer }, timer };
}

describe("T15: a server costs only an error of that call", () => {
  test.each([
    ["dies in the middle of a call", "die", "its process ended with code 3; it said last: out of cheese"],
    ["is killed in the middle of a call", "kill", "its process ended by SIGKILL"],
    ["floods with messages", "flood", "it sent more than 10000 messages within 10 s"],
    ["floods with empty lines", "blank", "it sent more than 10000 messages within 10 s"],
    ["sends a message without end", "huge", "it sent a message of more than 16777216 bytes"],
    ["sends half a message", "broken", "it sent a message that is not valid"],
    ["sends a message of another form", "untyped", "it sent a message that is not valid"],
  ])("that %s", async (_, tool, why) => {
    const clock = virtualClock();
    await using raw = await openMcp(server("raw"), { clock });
    await using other = await openMcp(server("raw"));
    const pid = Number(await told(raw, "pid"));
    expect(await told(raw, tool)).toBe(lost(why));
    // Another server goes on, and this one is started again for the next call.
    expect(await told(other, "echo", { a: 1 })).toBe('{"a":1}');
    await clock.advance(10_000);
    expect(await told(raw, "echo", { b: 2 })).toBe('{"b":2}');
    expect(Number(await told(raw, "pid"))).not.toBe(pid);
    await raw.close();
    expect(isAlive(pid)).toBe(false);
  });

  test.each([
    ["sends a result that is none", "nonsense", /^error: the MCP server "raw" sent a result that is none/],
    [
      "refuses the call",
      "refuse",
      /^error: the MCP server "raw" refused the call: .*no such vendor \(-32602\)$/,
    ],
    [
      "says that something is missing, as HTTP does",
      "missing",
      /^error: the MCP server "raw" refused the call: .*no such vendor \(-32603\)$/,
    ],
    ["sends data of great depth", "deep", /^error: .*result cannot be used: .*fewer levels of nesting$/],
    ["sends __proto__ in its data", "proto", /^error: .*result cannot be used: .*no key named __proto__$/],
  ])("that %s, and the connection stays", async (_, tool, said) => {
    await using raw = await openMcp(server("raw"));
    const pid = await told(raw, "pid");
    expect(await told(raw, tool)).toMatch(said);
    expect(await told(raw, "pid")).toBe(pid);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test.each([
    ["prints other things too", "noise", "and yet"],
    ["writes megabytes for people", "chatty", "said a lot"],
    ["answers what nobody asked, and asks for a model", "stranger", "it was me"],
    ["sends halves of characters", "halves", "a\uFFFDb"],
  ])("and none, if it %s", async (_, tool, said) => {
    await using raw = await openMcp(server("raw"));
    expect(await told(raw, tool)).toBe(said);
  });

  test.each([
    ["dies", "dying", "its process ended by SIGKILL"],
    ["refuses", "refusing", "not now"],
  ])(
    "that %s when its tools are listed again: it is known that the call was not sent",
    async (_, by, why) => {
      await using raw = await openMcp(server("raw"));
      await told(raw, "hide", { by });
      expect(await told(raw, "echo")).toBe(
        `error: echo was not called: the MCP server "raw" did not list its tools again: ${why}`,
      );
    },
  );

  test("that never answers: the time limit ends it, and the server is told", async () => {
    await using raw = await openMcp(server("raw"), { timeoutS: 20 });
    const clock = virtualClock();
    const { hanging } = await underWay(raw, "hang", { clock });
    await clock.advance(20_000);
    expect((await hanging).content).toBe("error: hang took longer than 20 s");
    expect(await told(raw, "cancelled")).toMatch(/^\[".*took longer than 20 s"\]$/);
    expect(clock.pending).toBe(0);
  });

  test("that never answers, even where the context has no timers", async () => {
    await using raw = await openMcp(server("raw"), { timeoutS: 0.05 });
    // Whichever limit is first, that of the context or that of the client.
    expect(await told(raw, "hang")).toMatch(
      /^error: (?:hang took longer than|.* did not answer within) 0\.05 s/,
    );
  });

  test.each([
    ["closes its output and lives on", "mute", "it has closed its output"],
    ["closes its input and lives on", "deaf", "it has closed its input"],
  ])("that %s: it is not waited for, and started again", async (_, tool, why) => {
    const clock = virtualClock();
    const { watched, timer } = watching(clock);
    await using raw = await openMcp(server("raw"), { clock: watched });
    const pid = Number(await told(raw, "pid"));
    // The call that closes the input is answered; it is the next one that is not heard.
    const call = tool === "deaf" ? told(raw, tool).then(() => told(raw, "echo")) : told(raw, tool);
    await timer;
    await clock.advance(1_000);
    expect(await call).toBe(lost(why));
    expect(await told(raw, "echo", { a: 1 })).toBe('{"a":1}');
    await raw.close();
    expect(isAlive(pid)).toBe(false);
    expect(clock.pending).toBe(0);
  });

  test("that reads nothing: what it is sent does not pile up without end", async () => {
    const clock = virtualClock();
    const raw = await openMcp(server("raw"), { clock });
    await told(raw, "idle");
    const text = "x".repeat(900_000);
    const many = Math.ceil(LIMITS.unreadBytes / text.length) + 1;
    const calls = Array.from({ length: many }, () => told(raw, "echo", { text }));
    expect(await Promise.race(calls)).toBe(
      `error: the MCP server "raw" could not be called: it does not read what it is sent${IN_DOUBT}`,
    );
    const closing = raw.close();
    await clock.advance(2_000);
    await closing;
    for (const said of await Promise.all(calls)) expect(said).toMatch(/^error: /);
  });

  test("that dies while others hold its output open", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const clock = virtualClock();
    const { watched, timer } = watching(clock);
    await using raw = await openMcp(server("raw"), { clock: watched });
    const connection = once(listener, "connection");
    await told(raw, "leave", { port });
    const [socket] = await connection;
    const call = told(raw, "die");
    await timer;
    await clock.advance(1_000);
    expect(await call).toBe(lost("its process ended with code 3; it said last: out of cheese"));
    socket.destroy();
    listener.close();
  });

  test("that answers too late: the answer is for nobody", async () => {
    await using raw = await openMcp(server("raw"));
    const clock = virtualClock();
    const { hanging } = await underWay(raw, "late", { clock });
    await clock.advance(60_000);
    expect((await hanging).isError).toBe(true);
    expect(await told(raw, "release")).toBe("released");
    expect(await told(raw, "echo", { a: 1 })).toBe('{"a":1}');
  });

  test("that writes without end to its error output, while other calls are made", async () => {
    const clock = virtualClock();
    const raw = await openMcp(server("raw"), { clock });
    await using other = await openMcp(server("raw"));
    const flooding = ask(raw, "errors");
    for (let n = 0; n < 20; n++) expect(await told(other, "echo", { n })).toBe(`{"n":${n}}`);
    const closing = raw.close();
    // It is too busy to notice the end of its input.
    await clock.advance(2_000);
    await closing;
    expect((await flooding).isError).toBe(true);
  });
});

describe("T15: a server that cannot be opened is an error that says why, and leaves nothing", () => {
  test.each([
    [
      "ends at its start",
      "exit",
      /^the MCP server node could not be reached: its process ended with code 2; it said last: no license$/,
    ],
    [
      "refuses to begin",
      "unlicensed",
      /^the MCP server node could not be reached: .*no license: set RAW_TOKEN/,
    ],
    ["speaks another protocol", "ancient", /^the MCP server node could not be reached: .*1999-01-01/],
    ["has a tool without a name", "nameless", /^the MCP server node did not list its tools: /],
  ])("one that %s", async (_, mode, said) => {
    expect(await failureOf(openMcp(server("raw", mode)))).toMatchObject({
      code: "TOOL_ERROR",
      message: expect.stringMatching(said),
    });
  });

  test("one that defines some of its tools wrongly has the others", async () => {
    const warned: string[] = [];
    const none = (): void => {};
    const logger = { debug: none, info: none, warn: (text: string) => void warned.push(text), error: none };
    const raw = server("raw", "malformed");
    await using opened = await openMcp(raw, { logger });
    expect(opened.tools.map(({ name }) => name)).toEqual(expect.not.arrayContaining(["broken", "odd"]));
    expect(await told(opened, "echo", { a: 1 })).toBe('{"a":1}');
    expect(warned).toEqual([
      'the MCP server "raw": its tool "broken" is left out: the definition is malformed (inputSchema: Invalid input: expected object, received undefined)',
      'the MCP server "raw": its tool "odd" is left out: the definition is malformed (inputSchema.type: Invalid input: expected "object")',
    ]);
    // As if it was gone: what was approved is not called.
    const approved = { tools: [...opened.manifest.tools, { name: "odd", inputSchema: { type: "object" } }] };
    await using again = await openMcp(raw, { logger, approved });
    expect(again.changes).toEqual([{ tool: "odd", changed: ["removed"] }]);
    expect(await told(again, "odd")).toMatch(/the server no longer has it/);
    expect(await failureOf(openMcp(raw, { include: ["odd"] }))).toMatchObject({
      message: expect.stringContaining("the server's is malformed (inputSchema.type: "),
    });
    await using without = await openMcp(raw, {
      exclude: ["odd"],
      include: ["echo", "odd"],
      approved,
      logger,
    });
    expect(without.tools.map(({ name }) => name)).toEqual(["echo"]);
  });

  test.each(["mute", "unlisted", "slow"])("one that never answers, or not as a whole: %s", async (mode) => {
    const failure = await failureOf(openMcp(server("raw", mode), { connectTimeoutS: 1 }));
    expect(failure).toMatchObject({
      code: "TOOL_ERROR",
      message: expect.stringMatching(/it did not answer within 1 s$/),
    });
  });

  test("one that is no program", async () => {
    const failure = await failureOf(openMcp({ command: "/no/such/program", args: ["--token=hush"] }));
    expect(failure.message).toMatch(/^the MCP server program could not be reached: .*ENOENT/);
    expect(failure.message).not.toContain("hush");
  });

  test("one whose folder is missing, for which the platform blames the program", async () => {
    const failure = await failureOf(openMcp({ command: process.execPath, cwd: "/no/such/folder" }));
    expect(failure.message).toMatch(/ENOENT \(the program or its cwd \/no\/such\/folder is missing\)$/);
  });
});

describe("after a server has died", () => {
  test("a call that was under way is not sent again, idempotent or not", async () => {
    await using raw = await openMcp(server("raw"));
    const { hanging } = await underWay(raw, "hang");
    await told(raw, "die");
    expect((await hanging).content).toMatch(/^error: the connection .* was lost/);
    // The new process has seen one call, this one.
    expect(await told(raw, "count")).toBe("1");
  });

  test("T15: one that floods is not read again before its time is over, and each call says why", async () => {
    const clock = virtualClock();
    await using raw = await openMcp(server("raw"), { clock });
    await told(raw, "flood");
    const why = "it sent more than 10000 messages within 10 s";
    expect(await told(raw, "echo")).toBe(`error: the MCP server node could not be reached: ${why}`);
    await clock.advance(10_000);
    expect(await told(raw, "echo")).toBe("{}");
  });

  test("calls at once start it once", async () => {
    await using raw = await openMcp(server("raw"));
    await told(raw, "die");
    const pids = await Promise.all(Array.from({ length: 5 }, () => told(raw, "pid")));
    expect(new Set(pids).size).toBe(1);
  });
});

describe("T4: when a server is closed", () => {
  test("one that ignores the end of its input and every signal is made to end", async () => {
    const clock = virtualClock();
    const raw = await openMcp(server("raw", "stubborn"), { clock });
    const pid = Number(await told(raw, "pid"));
    const closing = raw.close();
    // It is asked twice, and has two seconds for each.
    await clock.advance(2_000);
    expect(isAlive(pid)).toBe(true);
    await clock.advance(2_000);
    await closing;
    expect(isAlive(pid)).toBe(false);
    expect(clock.pending).toBe(0);
  });

  test("one that may not be ended, such as that of another user, is left behind and not waited for", async () => {
    const clock = virtualClock();
    const raw = await openMcp(server("raw", "stubborn"), { clock });
    const pid = Number(await told(raw, "pid"));
    const kill = vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    });
    onTestFinished(() => void process.kill(-pid, "SIGKILL"));
    onTestFinished(() => kill.mockRestore());
    const closing = raw.close();
    await clock.advance(6_000);
    await closing;
    expect(kill.mock.calls).toEqual([
      [-pid, "SIGTERM"],
      [-pid, "SIGKILL"],
    ]);
    expect(clock.pending).toBe(0);
  });

  test("the processes that it has started end too", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    try {
      const raw = await openMcp(server("raw"));
      const connection = once(listener, "connection");
      await told(raw, "spawn", { port });
      const [socket] = await connection;
      const gone = once(socket, "close");
      socket.on("error", () => {}).resume();
      await raw.close();
      // Its connection ends with it. If it lived on, this would wait for ever.
      expect(await gone).toBeDefined();
    } finally {
      listener.close();
    }
  });
});
