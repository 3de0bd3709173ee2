import {
  type Agent,
  AgentId,
  type AgentResult,
  type CallOptions,
  type Hooks,
  type LLMClient,
  type ModelRequest,
  ProviderError,
  type RunResult,
  type Supervision,
  defineTool,
  textOf,
} from "@ravi/kernel";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import type { RuntimeUnderTest } from "@ravi/testing/suites";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RestateServer } from "../src/server.ts";
import { house } from "./house.ts";

let server: RestateServer;
beforeAll(async () => void (server = await RestateServer.start()));
afterAll(() => server.stop());

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });
const say = (content: string): ModelRequest => ({ messages: [{ role: "user", content }] });

/** A schema that any arguments fit. */
const ANYTHING = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
} as const;

/** As somebody does by hand. */
async function killExecution(key: string): Promise<void> {
  const query = `SELECT id FROM sys_invocation WHERE target_service_name = 'RaviExecution' AND target_service_key = '${key}'`;
  const headers = { accept: "application/json", "content-type": "application/json" };
  const body = JSON.stringify({ query });
  const answer = await fetch(`${server.admin}/query`, { method: "POST", headers, body });
  const { rows } = (await answer.json()) as { rows: { id: string }[] };
  for (const { id } of rows) await fetch(`${server.admin}/invocations/${id}/kill`, { method: "PATCH" });
}

test(
  "R24: a run goes on that has more on record than the server takes in one message",
  { timeout: 180_000 },
  async () => {
    const [calls, length] = [18, 2 * 1024 * 1024];
    const faults = { isWrong: true };
    const model = scriptedModel(() => "y".repeat(length));
    const lead = agent("lead", async (ctx) => {
      let sum = 0;
      for (let n = 0; n < calls; n++) sum += textOf((await ctx.llm(model, say(String(n)))).message).length;
      if (faults.isWrong) throw new TypeError("a mistake");
      return done(String(sum));
    });
    const runtime = await house(server, { stream: false }).create({ agents: [lead] });
    expect((await runtime.run(lead, "", { runId: "large" }).result).status).toBe("failed");
    faults.isWrong = false;
    const { output } = await runtime.resume("large", { retryFailed: true }).result;
    expect([output, model.calls.length]).toEqual([String(calls * length), calls]);
    await runtime.close();
  },
);

test("R24: of several who retry a run at the same moment one does, and all get its result", async () => {
  let isDown = true;
  const model = scriptedModel(() => {
    if (isDown) throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
    return "up";
  });
  const lead = agent("lead", async (ctx) => done(textOf((await ctx.llm(model, say("?"))).message)));
  const runtime = await house(server).create({ agents: [lead] });
  expect((await runtime.run(lead, "", { runId: "many" }).result).status).toBe("failed");
  const before = model.calls.length;
  isDown = false;
  const handles = Array.from({ length: 4 }, () => runtime.resume("many", { retryFailed: true }));
  expect((await Promise.all(handles.map(({ result }) => result))).map(({ output }) => output)).toEqual(
    Array.from(handles, () => "up"),
  );
  expect(model.calls.length - before).toBe(1);
  await runtime.delete("many");
  await runtime.close();
});

test("R24: a message and a value that it got after a call failed are given to it again, and its events go on", async () => {
  let isDown = true;
  const model = scriptedModel(() => {
    if (isDown) throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
    return "up";
  });
  const lead = agent("lead", async (ctx, inbox) => {
    const answer = ctx.llm(model, say("?")).then(({ message }) => textOf(message));
    const said = await answer.catch(() => undefined);
    const heard = await inbox.receive();
    const word = await ctx.waitFor("word");
    if (said === undefined) throw new TypeError("no answer");
    return done(JSON.stringify([said, heard.content, word]));
  });
  const runtime = await house(server).create({ agents: [lead] });
  const handle = runtime.run(lead, "", { runId: "talk" });
  await runtime.send?.("talk", "hello");
  await runtime.deliver("talk", "word", "now");
  expect((await handle.result).status).toBe("failed");
  isDown = false;
  const again = runtime.resume("talk", { retryFailed: true });
  const told: string[] = [];
  for await (const { event } of again.events()) told.push(event.type);
  expect((await again.result).output).toBe('["up","hello","now"]');
  expect([told.filter((type) => type === "started").length, told.at(-1)]).toEqual([1, "completed"]);
  await runtime.close();
});

test("R24: a run that was killed at the server is not retried: nobody knows what it has paid for", async () => {
  const lead = agent("lead", async (ctx) => done(JSON.stringify(await ctx.waitFor("never"))));
  const runtime = await house(server).create({ agents: [lead] });
  const handle = runtime.run(lead, "", { runId: "killed" });
  while (handle.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 5));
  await killExecution("killed");
  expect((await handle.result).status).toBe("failed");
  await expect(runtime.resume("killed", { retryFailed: true }).result).rejects.toThrow("nothing is kept");
  await runtime.close();
});

test("R24: a run whose worker dies while it fails has failed, and goes on when it is retried", async () => {
  const faults = { isWrong: true };
  const isEnding = Promise.withResolvers<void>();
  const model = scriptedModel(() => "ok");
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, say("?"));
    // Another text each time.
    if (faults.isWrong) throw new TypeError(`a mistake at ${performance.now()}`);
    return done(textOf((await ctx.llm(model, say("!"))).message));
  });
  const hooks: Hooks = {
    has: () => true,
    dispatch: async () => {},
    drain: () => {
      isEnding.resolve();
      return new Promise<void>(() => {});
    },
  };
  const home = house(server);
  const first = await home.create({ agents: [lead], hooks });
  first.run(lead, "", { runId: "dying" }).result.catch(() => {});
  await isEnding.promise;
  await home.crash(first);
  const second = await home.create({ agents: [lead] });
  expect((await second.resume("dying").result).status).toBe("failed");
  faults.isWrong = false;
  expect((await second.resume("dying", { retryFailed: true }).result).output).toBe("ok");
  expect(model.calls).toHaveLength(2);
  await second.close();
});

/** Returns when the call is to be answered, or throws why it fails. */
type Answer = (asked: string, signal: CallOptions["signal"]) => Promise<void> | void;

function priced(answer: Answer): LLMClient {
  return {
    id: "m",
    info: { provider: "p", model: "m", maxOutputTokens: 10 },
    async generate({ messages }, { signal } = {}) {
      const last = messages.at(-1);
      await answer(last === undefined ? "" : textOf(last), signal);
      const usage = { inputTokens: 1, outputTokens: 1 };
      return { message: { role: "assistant", content: "yes" }, finishReason: "stop", usage };
    },
  };
}

/** Plays the same on the server and in one process, with money, and returns what came of both. */
async function playBoth<T>(play: (runtime: RuntimeUnderTest) => Promise<T>): Promise<readonly [T, T]> {
  const money = {
    meter: new ModelMeter({ prices: { "p:m": { input: 1, output: 1 } } }),
    ledger: (root: Supervision) => new ExecutionTracker(root.executionBudget, { scope: root.agentId }),
  };
  const journal = new MemoryJournal();
  const runtimes = [
    await house(server, { stream: false, ...money }).create({ agents: [] }),
    new Runtime({ journal, ...money }),
  ] as const;
  try {
    return [await play(runtimes[0]), await play(runtimes[1])];
  } finally {
    for (const runtime of runtimes) await runtime.close();
  }
}

/** What each agent has used. How its calls were counted may differ. */
function billsOf({ agents = [], cost, inDoubt }: RunResult) {
  const each = agents.map(({ agentId, status, usage, costUsd, wasteUsd }) => {
    return { agentId, status, usage, costUsd, wasteUsd };
  });
  return { agents: each.toSorted((one, other) => (one.agentId < other.agentId ? -1 : 1)), cost, inDoubt };
}

test("R24: children that are stopped by one failure after the other keep what they did: it is not paid for again, and no cost is forgotten", async () => {
  const kids = ["a", "b", "c"];
  const [there, here] = await playBoth(async (runtime) => {
    let down = 3;
    const paid: string[] = [];
    const isAll = Promise.withResolvers<void>();
    const model = priced((asked) => {
      if (asked === "lead" && down-- > 0) throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
      if (paid.push(asked) === kids.length * 2) isAll.resolve();
    });
    const kid = agent("kid", async (ctx, { input }) => {
      for (const n of [1, 2]) await ctx.llm(model, say(`${input}${n}`));
      return done(JSON.stringify(await ctx.waitFor(input)));
    });
    const lead = agent("lead", async (ctx) => {
      const handles = [];
      for (const input of kids) handles.push(await ctx.spawn(kid, { input }));
      await ctx.waitFor("go");
      await ctx.llm(model, say("lead"));
      const outcomes = [];
      for (const handle of handles) outcomes.push(await ctx.join(handle));
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const handle = runtime.run(lead, "", { runId: "again", executionBudget: { maxTurns: 20 } });
    await isAll.promise;
    await runtime.deliver("again", "go", null);
    const statuses = [(await handle.result).status];
    for (const _ of [1, 2])
      statuses.push((await runtime.resume("again", { retryFailed: true }).result).status);
    const last = runtime.resume("again", { retryFailed: true });
    for (const input of kids) await runtime.deliver("again", input, null);
    const result = await last.result;
    return { statuses, output: result.output, paid: paid.toSorted(), ...billsOf(result) };
  });
  expect(there).toEqual(here);
  expect(there.paid).toEqual(["a1", "a2", "b1", "b2", "c1", "c2", "lead"]);
});

test("R24: a call that was under way when its agent was stopped, and is made again, is charged twice and in doubt", async () => {
  const [there, here] = await playBoth(async (runtime) => {
    const isHeld = Promise.withResolvers<void>();
    const made: string[] = [];
    const model = priced(async (asked, signal) => {
      made.push(asked);
      if (made.indexOf(asked) < made.length - 1) return;
      if (asked === "kid") {
        isHeld.resolve();
        await new Promise<void>((_, reject) => {
          signal?.addEventListener("abort", () => reject(new Error("aborted")));
        });
      }
      await isHeld.promise;
      throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
    });
    const kid = agent("kid", async (ctx) => done(textOf((await ctx.llm(model, say("kid"))).message)));
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(kid, { input: "" });
      await ctx.llm(model, say("lead"));
      return done((await ctx.join(handle)).status);
    });
    const first = await runtime.run(lead, "", { runId: "cut", executionBudget: { maxTurns: 10 } }).result;
    const again = await runtime.resume("cut", { retryFailed: true }).result;
    return { made: made.toSorted(), output: again.output, ...billsOf(again), before: billsOf(first) };
  });
  expect(there).toEqual(here);
  expect([there.made, there.inDoubt]).toEqual([["kid", "kid", "lead", "lead"], ["cut/hire:kid#1:llm:m#1"]]);
});

test.each([true, false])(
  "R24: a tool that was under way when its agent was stopped is in doubt: it is called again if that does no harm (%s), else somebody is asked",
  async (idempotent) => {
    const [there, here] = await playBoth(async (runtime) => {
      const isHeld = Promise.withResolvers<void>();
      const made: string[] = [];
      const model = priced(async (asked) => {
        made.push(asked);
        if (asked !== "lead" || made.filter((each) => each === asked).length > 1) return;
        await isHeld.promise;
        throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
      });
      const book = defineTool({
        name: "book",
        description: "",
        input: ANYTHING,
        idempotent,
        execute: async (_, context) => {
          const { signal } = context;
          await context.llm(model, say("inside"));
          made.push("book");
          if (made.filter((each) => each === "book").length > 1) return "booked";
          const stopped = new Promise<never>((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("aborted")));
          });
          isHeld.resolve();
          return stopped;
        },
      });
      const kid = agent("kid", async (ctx) => {
        const { content } = await ctx.tool({ id: "c", name: "book", arguments: "{}" }, book);
        return done(typeof content === "string" ? content : "");
      });
      const lead = agent("lead", async (ctx) => {
        const handle = await ctx.spawn(kid, { input: "" });
        await ctx.llm(model, say("lead"));
        const outcome = await ctx.join(handle);
        return done("result" in outcome ? outcome.result.output : outcome.status);
      });
      const runId = `tool${idempotent}`;
      await runtime.run(lead, "", { runId, executionBudget: { maxTurns: 10 } }).result;
      let again = runtime.resume(runId, { retryFailed: true });
      if (!idempotent) {
        const asks = async () => (await runtime.list()).find((run) => run.runId === runId)?.waitingFor ?? [];
        while ((await asks()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        const [wait] = await asks();
        expect(wait).toMatchObject({ kind: "decision", question: { tool: "book" } });
        expect(made.filter((each) => each === "book")).toHaveLength(1);
        if (runtime instanceof Runtime) await again.result;
        again = runtime.resume(runId, { decisions: { [wait?.name ?? ""]: "retry" } });
      }
      const result = await again.result;
      return { made: made.toSorted(), output: result.output, ...billsOf(result) };
    });
    expect(there).toEqual(here);
    expect([there.output, ...there.made]).toEqual([
      "booked",
      "book",
      "book",
      "inside",
      "inside",
      "lead",
      "lead",
    ]);
  },
);

test("R24: a child that had failed, and is stopped before it could be retried, is retried by the next one", async () => {
  const failing = new Map([
    ["x", 1],
    ["lead", 2],
  ]);
  const made: string[] = [];
  const model = priced((asked) => {
    made.push(asked);
    const left = failing.get(asked) ?? 0;
    failing.set(asked, left - 1);
    if (left > 0) throw new ProviderError({ kind: "SERVER_ERROR", message: `down for ${asked}` });
  });
  const worker = agent("worker", async (ctx, { input }) =>
    done(textOf((await ctx.llm(model, say(input))).message)),
  );
  const head = agent("head", async (ctx) => {
    const outcome = await ctx.hire({ agent: worker, input: "x" });
    await ctx.hire({ agent: worker, input: "y" });
    if ("error" in outcome) throw outcome.error;
    return done(outcome.status);
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(head, { input: "" });
    await ctx.waitFor("go");
    await ctx.llm(model, say("lead"));
    return done((await ctx.join(handle)).status);
  });
  const runtime = await house(server).create({ agents: [] });
  const handle = runtime.run(lead, "", { runId: "head" });
  for await (const { agentId, event } of handle.events())
    if (event.type === "error" && agentId.startsWith("head")) break;
  await runtime.deliver("head", "go", null);
  await handle.result;
  await runtime.resume("head", { retryFailed: true }).result;
  const { output } = await runtime.resume("head", { retryFailed: true }).result;
  expect([output, made.toSorted()]).toEqual(["completed", ["lead", "lead", "lead", "x", "x", "y"]]);
  await runtime.close();
});
