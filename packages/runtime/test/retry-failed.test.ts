import {
  type Agent,
  type ChatContext,
  type ChatMessage,
  defineTool,
  type FunctionContext,
  type HistoryProvider,
  type Journal,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  ProviderError,
  RunId,
  type RunResult,
  type RootHandle,
} from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { virtualClock } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, turns, until, within } from "./support/helpers.ts";

/** A model that can be down. `paid` has the questions that it has answered. */
class Server {
  isDown = false;
  readonly paid: string[] = [];
  readonly model: LLMClient = {
    id: "server",
    info: { provider: "server", model: "m" },
    generate: async ({ messages }) => this.answer(String(messages.at(-1)?.content)),
  };

  private answer(question: string): ModelResponse {
    if (this.isDown) throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
    this.paid.push(question);
    const message = { role: "assistant", content: `to ${question}` } as const;
    return { message, finishReason: "stop", usage: { inputTokens: 10, outputTokens: 1 } };
  }
}

/** Asks three questions, and is down from the second on. */
function asker(server: Server, name = "asker"): Agent {
  return agent(name, async (ctx, { input }) => {
    const answers: string[] = [];
    for (const n of [1, 2, 3]) {
      const { message } = await ctx.llm(server.model, ask(`${input}${n}`));
      answers.push(String(message.content));
    }
    return done(answers.join(", "));
  });
}

const DONE = "to a1, to a2, to a3";

/** Runs `lead` until the server is down after `answers` answers. */
async function outage(journal: Journal, server: Server, lead: Agent, answers: number): Promise<RunResult> {
  const runtime = new Runtime({ journal });
  const onEvent = (): void => {
    server.isDown = server.paid.length >= answers;
  };
  const result = await runtime.run(lead, "a", { runId: "r", onEvent }).result;
  expect(result).toMatchObject({ status: "failed", error: { code: "PROVIDER_ERROR" } });
  server.isDown = false;
  return result;
}

async function retried(journal: Journal, lead: Agent, ...others: readonly Agent[]): Promise<RunResult> {
  return new Runtime({ journal, agents: [lead, ...others] }).resume("r", { retryFailed: true }).result;
}

describe.each<[string, () => Journal]>([
  ["in memory", () => new MemoryJournal()],
  ["in SQLite", () => SqliteJournal.open(temporaryDirectory())],
])("a run that has failed, with a journal %s,", (_, open) => {
  test("stays failed unless it is asked to go on, and then pays for nothing again", async () => {
    const [journal, server] = [open(), new Server()];
    const lead = asker(server);
    const failed = await outage(journal, server, lead, 1);
    const same = await new Runtime({ journal, agents: [lead] }).resume("r").result;
    expect(same).toMatchObject({ status: "failed", usage: failed.usage });

    const result = await retried(journal, lead);
    expect(result).toMatchObject({ status: "completed", output: DONE, inDoubt: [] });
    expect(server.paid).toEqual(["a1", "a2", "a3"]);
    expect(result.usage).toMatchObject({ inputTokens: 30, outputTokens: 3 });
    expect(await journal.list()).toMatchObject([{ runId: "r", status: "completed" }]);
    expect(await retried(journal, lead)).toMatchObject({ status: "completed", output: DONE });
    expect(server.paid).toHaveLength(3);
    await journal.close();
  });

  test("may fail again and be retried again, also in a child of a child", async () => {
    const [journal, server] = [open(), new Server()];
    const worker = asker(server, "worker");
    const middle = agent("middle", async (ctx, { input }) => {
      const outcome = await ctx.hire({ agent: worker, input });
      if ("error" in outcome) throw outcome.error;
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const lead = agent("lead", async (ctx, { input }) => {
      const outcome = await ctx.hire({ agent: middle, input });
      if ("error" in outcome) throw outcome.error;
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    await outage(journal, server, lead, 1);
    server.isDown = true;
    expect(await retried(journal, lead, middle, worker)).toMatchObject({ status: "failed" });
    expect(await retried(journal, lead, middle, worker)).toMatchObject({ status: "failed" });
    server.isDown = false;
    const result = await retried(journal, lead, middle, worker);
    expect(result).toMatchObject({ status: "completed", output: DONE, inDoubt: [] });
    expect(server.paid).toEqual(["a1", "a2", "a3"]);
    expect(result.agents?.map(({ agentId, status }) => [agentId, status])).toEqual([
      ["lead", "completed"],
      ["middle/1", "completed"],
      ["worker/1.1", "completed"],
    ]);
    await journal.close();
  });
});

test("after each entry of a retried run it can be cut off and resumed, and no recorded answer is paid for again", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const worker = asker(server, "worker");
  const lead = agent("lead", async (ctx, { input }) => {
    const outcome = await ctx.hire({ agent: worker, input });
    if ("error" in outcome) throw outcome.error;
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  await outage(journal, server, lead, 1);
  const before = journal.load(RunId("r")).length;
  await retried(journal, lead, worker);
  const records = journal.load(RunId("r"));
  for (let length = before + 1; length < records.length; length++) {
    const known = records.slice(0, length);
    const answered = known.filter(({ key, body }) => key.startsWith("llm:") && "response" in body).length;
    server.paid.length = 0;
    const store = cut("r", known);
    const result = await new Runtime({ journal: store, agents: [lead, worker] }).resume("r").result;
    expect(result, `cut after ${length}`).toMatchObject({ status: "completed", output: DONE });
    expect(server.paid, `cut after ${length}`).toHaveLength(3 - answered);
  }
});

test("a failure that the agent has gone on after stays as it was", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const other = new Server();
  const careful = agent("careful", async (ctx) => {
    const first = await ctx.llm(other.model, ask("x")).then(
      () => "answered",
      () => "failed",
    );
    await ctx.llm(server.model, ask("y"));
    return done(first);
  });
  other.isDown = server.isDown = true;
  expect((await new Runtime({ journal }).run(careful, "", { runId: "r" }).result).status).toBe("failed");
  other.isDown = server.isDown = false;
  expect(await retried(journal, careful)).toMatchObject({ status: "completed", output: "failed" });
  expect([other.paid, server.paid]).toEqual([[], ["y"]]);
});

test("what the agent recorded after the failure is forgotten with it", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const lead = agent("lead", async (ctx) => {
    try {
      await ctx.llm(server.model, ask("x"));
    } catch (error) {
      await ctx.now();
      await ctx.random();
      throw error;
    }
    return done(String((await ctx.llm(server.model, ask("y"))).message.content));
  });
  server.isDown = true;
  await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
  server.isDown = false;
  expect(await retried(journal, lead)).toMatchObject({ status: "completed", output: "to y" });
});

test.each(["a call", "its own code"])("what it records after %s has failed may differ", async (what) => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const settings = { isWrong: what === "its own code" };
  server.isDown = what === "a call";
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(server.model, ask("x")).catch(async (error: unknown) => {
      await ctx.now();
      throw error;
    });
    const time = await ctx.now();
    if (settings.isWrong) throw new RangeError("wrong");
    await ctx.llm(server.model, ask("y"));
    return done(String(time));
  });
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  expect((await retried(journal, lead)).status).toBe("failed");
  server.isDown = settings.isWrong = false;
  const result = await retried(journal, lead);
  expect(result).toMatchObject({ status: "completed", output: expect.stringMatching(/^\d+$/) });
  expect(server.paid).toEqual(["x", "y"]);
  const ended = journal.load(RunId("r")).length;
  const store = cut("r", journal.load(RunId("r")).slice(0, ended - 1));
  expect((await new Runtime({ journal: store, agents: [lead] }).resume("r").result).output).toBe(
    result.output,
  );
});

test("what it records after a call has answered is not what it had recorded after the same call failed", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const lead = agent("lead", async (ctx) => {
    try {
      await ctx.llm(server.model, ask("x"));
    } catch (error) {
      await ctx.record("report", () => "no answer");
      throw error;
    }
    return done(String(await ctx.record("report", () => "an answer")));
  });
  server.isDown = true;
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  server.isDown = false;
  expect(await retried(journal, lead)).toMatchObject({ status: "completed", output: "an answer" });
});

test("a call that was answered after another of its batch had failed is not paid for again", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const down: LLMClient = {
    ...server.model,
    generate: async (request) => {
      if (server.paid.length < 2) throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
      return server.model.generate(request);
    },
  };
  const slow: LLMClient = {
    ...server.model,
    generate: async (request) => {
      await turns(20);
      return server.model.generate(request);
    },
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(server.model, ask("first"));
    const outcomes = await ctx.batch([
      { kind: "llm", model: down, request: ask("fast") },
      { kind: "llm", model: slow, request: ask("slow") },
    ]);
    for (const outcome of outcomes) if ("error" in outcome) throw outcome.error;
    return done("both");
  });
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  expect(await retried(journal, lead)).toMatchObject({ status: "completed", output: "both" });
  expect(server.paid).toEqual(["first", "slow", "fast"]);
});

test("a child that failed before it had done anything is run again", async () => {
  const [journal, settings] = [new MemoryJournal(), { isWrong: true }];
  const worker = agent("worker", async () => {
    if (settings.isWrong) throw new RangeError("wrong");
    return done("right");
  });
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: worker, input: "" });
    if ("error" in outcome) throw outcome.error;
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  settings.isWrong = false;
  expect(await retried(journal, lead, worker)).toMatchObject({ status: "completed", output: "right" });
});

test("a parent keeps what a child told it before it failed", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const clerk = agent("clerk", async (ctx, inbox) => {
    const question = await inbox.receive();
    const answer = await ctx.llm(server.model, ask("x")).catch(async (error: unknown) => {
      await inbox.reply(question, "I cannot tell");
      throw error;
    });
    return done(String(answer.message.content));
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(clerk, { input: "" });
    const told = await ctx.ask(handle, "one", { timeoutS: 60 });
    const outcome = await ctx.join(handle);
    if ("error" in outcome) throw outcome.error;
    return done(`${String(told)}, ${"result" in outcome ? outcome.result.output : outcome.status}`);
  });
  server.isDown = true;
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  server.isDown = false;
  const result = await within(retried(journal, lead, clerk));
  expect(result).toMatchObject({ status: "completed", output: "I cannot tell, to x" });
});

test("a question that nobody had answered when the agent went on is not asked again", async () => {
  const [journal, server, clock] = [new MemoryJournal(), new Server(), virtualClock()];
  const clerk = agent("clerk", async (_ctx, inbox) => {
    const [first, second] = [await inbox.receive(), await inbox.receive()];
    await inbox.reply(second, `${String(first.content)} and ${String(second.content)}`);
    return done("");
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(clerk, { input: "" });
    const first = await ctx.ask(handle, "one", { timeoutS: 1 }).catch(() => "no answer");
    await ctx.llm(server.model, ask("x"));
    return done(`${String(first)}, ${String(await ctx.ask(handle, "two", { timeoutS: 1 }))}`);
  });
  server.isDown = true;
  const run = new Runtime({ journal, clock }).run(lead, "", { runId: "r" });
  await turns();
  await clock.advance(1_000);
  expect(await within(run.result)).toMatchObject({ status: "failed" });
  server.isDown = false;
  const { result } = new Runtime({ journal, clock, agents: [lead, clerk] }).resume("r", {
    retryFailed: true,
  });
  expect(await within(result)).toMatchObject({ status: "completed", output: "no answer, one and two" });
});

test("a tool that the run has failed with is not called again: it may have done its work", async () => {
  const journal = new MemoryJournal();
  let [paid, isDown] = [0, true];
  const pay = defineTool({ name: "pay", description: "", input: z.object({}), execute: () => ++paid });
  const lead = agent("lead", async (ctx) => {
    const { content } = await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay);
    return done(String(content));
  });
  const layer: Pipeline<FunctionContext> = {
    isNoop: false,
    admit() {},
    async run(_, core) {
      const result = await core();
      if (isDown) throw new RangeError("the layer is down");
      return result;
    },
  };
  const runtime = new Runtime({ journal, agents: [lead], pipelines: { function: layer } });
  expect(await runtime.run(lead, "", { runId: "r" }).result).toMatchObject({ status: "failed" });
  isDown = false;
  const { status, error } = await runtime.resume("r", { retryFailed: true }).result;
  expect([status, error?.message, paid]).toEqual(["failed", expect.stringContaining("layer is down"), 1]);
});

test("a sibling of a failed child that had done its work is not run again", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  let runs = 0;
  const quick = agent("quick", async () => done(String(++runs)));
  const worker = asker(server, "worker");
  const lead = agent("lead", async (ctx) => {
    const outcomes = await ctx.batch([
      { kind: "hire", agent: quick, input: "" },
      { kind: "hire", agent: worker, input: "a" },
    ]);
    const outputs = outcomes.map((outcome) => {
      if ("error" in outcome) throw outcome.error;
      return "result" in outcome ? outcome.result.output : outcome.status;
    });
    return done(outputs.join("; "));
  });
  await outage(journal, server, lead, 1);
  const result = await retried(journal, lead, quick, worker);
  expect(result).toMatchObject({ status: "completed", output: `1; ${DONE}` });
  expect(runs).toBe(1);
});

test.each(["its own code", "a child"])(
  "what it recorded before %s failed is not made again",
  async (what) => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const settings = { isWrong: what === "its own code" };
    const orders: string[] = [];
    const worker = asker(server, "worker");
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(worker, { input: "a" });
      await ctx.waitFor("go");
      const order = await ctx.record("order", () => orders.push("order"));
      const outcome = await ctx.join(handle);
      if ("error" in outcome) {
        await ctx.record("apology", () => orders.push("apology"));
        throw outcome.error;
      }
      if (settings.isWrong) throw new RangeError("wrong");
      return done(JSON.stringify(order));
    });
    server.isDown = !settings.isWrong;
    const runtime = new Runtime({ journal });
    const first = runtime.run(lead, "", { runId: "r" });
    await until(() =>
      journal.load(RunId("r")).some(({ key, phase }) => key.startsWith("hire:") && phase === "end"),
    );
    await runtime.deliver("r", "go", true);
    expect((await first.result).status).toBe("failed");
    server.isDown = settings.isWrong = false;
    expect(await within(retried(journal, lead, worker))).toMatchObject({ status: "completed", output: "1" });
    expect(orders.filter((each) => each === "order")).toHaveLength(1);
  },
);

test("what it recorded before its own code failed stays, and need not be asked for again", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const settings = { isWrong: true };
  let orders = 0;
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(server.model, ask("x"));
    const order = await ctx.record("order", () => ++orders);
    if (settings.isWrong) {
      await ctx.now();
      throw new RangeError("wrong");
    }
    await ctx.llm(server.model, ask("y"));
    return done(`order ${String(order)} at ${(await ctx.now()) > 0}`);
  });
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  expect((await retried(journal, lead)).status).toBe("failed");
  settings.isWrong = false;
  expect(await retried(journal, lead)).toMatchObject({ status: "completed", output: "order 1 at true" });
  expect([orders, server.paid]).toEqual([1, ["x", "y"]]);
});

test("an agent whose own code failed has read its messages", async () => {
  const [journal, settings] = [new MemoryJournal(), { isWrong: true }];
  const lead = agent("lead", async (ctx, inbox) => {
    const read: string[] = [];
    while (read.length < 2) {
      if (inbox.hasMail?.() === true) read.push(String((await inbox.take())?.content));
      else await ctx.waitFor("go");
      if (settings.isWrong && read.length === 1) throw new RangeError("wrong");
    }
    return done(read.join(", "));
  });
  const runtime = new Runtime({ journal });
  const first = runtime.run(lead, "", { runId: "r" });
  await runtime.send("r", "one");
  await runtime.deliver("r", "go", true);
  expect((await first.result).status).toBe("failed");
  settings.isWrong = false;
  const again = new Runtime({ journal, agents: [lead] });
  const { result } = again.resume("r", { retryFailed: true });
  await again.send("r", "two");
  await again.deliver("r", "go", true);
  expect(await within(result)).toMatchObject({ output: "one, two" });
});

test("a run that failed before its next call goes on with it", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const settings = { isWrong: true };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(server.model, ask("x"));
    if (settings.isWrong) throw new ProviderError({ kind: "AUTH", message: "no key" });
    return done(String((await ctx.llm(server.model, ask("y"))).message.content));
  });
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  settings.isWrong = false;
  expect(await retried(journal, lead)).toMatchObject({ status: "completed", output: "to y" });
  expect(server.paid).toEqual(["x", "y"]);
});

test("siblings of a failed child that were stopped with it go on too, and a tool is not called again", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  let calls = 0;
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    execute: () => `paid ${++calls}`,
  });
  const worker = agent("worker", async (ctx, { input }) => {
    const paid = await ctx.tool({ id: input, name: "pay", arguments: "{}" }, pay);
    if (input !== "0") await ctx.waitFor(`go${input}`);
    const { message } = await ctx.llm(server.model, ask(input));
    return done(`${String(paid.content)} ${String(message.content)}`);
  });
  const lead = agent("lead", async (ctx) => {
    const handles = [];
    for (const input of ["0", "1", "2"]) handles.push(await ctx.spawn(worker, { input }));
    const outcomes: string[] = [];
    for (const handle of handles) {
      const outcome = await ctx.join(handle);
      if ("error" in outcome) throw outcome.error;
      outcomes.push("result" in outcome ? outcome.result.output : outcome.status);
    }
    return done(outcomes.join(", "));
  });
  server.isDown = true;
  expect((await new Runtime({ journal }).run(lead, "", { runId: "r" }).result).status).toBe("failed");
  server.isDown = false;
  const runtime = new Runtime({ journal, agents: [lead, worker] });
  const handle = runtime.resume("r", { retryFailed: true });
  for (const n of [1, 2]) await runtime.deliver("r", `go${n}`, true);
  expect(await handle.result).toMatchObject({
    status: "completed",
    output: "paid 1 to 0, paid 2 to 1, paid 3 to 2",
  });
  expect(calls).toBe(3);
});

test.each(["the run", "its parent"])(
  "a child that failed while others were being hired goes on, if %s failed with it",
  async (who) => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const numbers: number[] = [];
    const worker = agent("worker", async (ctx, { input }) => {
      const { message } = await ctx.llm(server.model, ask(input));
      return done(String(message.content));
    });
    const lead = agent("lead", async (ctx) => {
      numbers.push(await ctx.random());
      const first = await ctx.spawn(worker, { input: "1" });
      await ctx.waitFor("next");
      const second = await ctx.spawn(worker, { input: "2" });
      const outputs: string[] = [];
      for (const handle of [first, second]) {
        const outcome = await ctx.join(handle);
        if ("error" in outcome) throw outcome.error;
        outputs.push("result" in outcome ? outcome.result.output : outcome.status);
      }
      return done(outputs.join(", "));
    });
    const boss = agent("boss", async (ctx) => {
      const outcome = await ctx.hire({ agent: lead, input: "" });
      if ("error" in outcome) throw outcome.error;
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const root = who === "the run" ? lead : boss;
    const runtime = new Runtime({ journal });
    server.isDown = true;
    const handle = runtime.run(root, "", { runId: "r" });
    for await (const { event, agentId } of handle.events()) {
      if (event.type !== "error" || !agentId.startsWith("worker")) continue;
      server.isDown = false;
      await runtime.deliver("r", "next", true);
      break;
    }
    expect((await handle.result).status).toBe("failed");
    expect(await retried(journal, root, ...(root === lead ? [] : [lead]), worker)).toMatchObject({
      status: "completed",
      output: "to 1, to 2",
    });
    expect(server.paid).toEqual(["2", "1"]);
    expect(numbers[1]).toBe(numbers[0]);
  },
);

describe("a child and a call of one batch that both failed are both made again", () => {
  /** Its own call takes longer than its child's, so that it ends after it. */
  const both = (server: Server, worker: Agent): Agent =>
    agent("lead", async (ctx) => {
      const slow: LLMClient = {
        ...server.model,
        generate: async (request) => {
          await turns(20);
          return server.model.generate(request);
        },
      };
      const outcomes = await ctx.batch([
        { kind: "hire", agent: worker, input: "w" },
        { kind: "llm", model: slow, request: ask("own") },
      ]);
      for (const outcome of outcomes) if ("error" in outcome) throw outcome.error;
      return done("both");
    });

  test("also if a layer had tried the call again, when the child had failed already", async () => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const worker = asker(server, "worker");
    const lead = both(server, worker);
    const twice: Pipeline<ChatContext> = { isNoop: false, admit() {}, run: (_, core) => core().catch(core) };
    server.isDown = true;
    const ledger = (): FakeLedger => new FakeLedger({});
    const runtime = new Runtime({ journal, pipelines: { chat: twice }, ledger });
    expect((await runtime.run(lead, "", { runId: "r" }).result).status).toBe("failed");
    server.isDown = false;
    const again = new Runtime({ journal, agents: [lead, worker], ledger });
    const result = await again.resume("r", { retryFailed: true }).result;
    expect(result).toMatchObject({ status: "completed", output: "both" });
    expect(server.paid.toSorted()).toEqual(["own", "w1", "w2", "w3"]);
  });

  test("also if the process died in between, and the call was made again in another", async () => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const worker = asker(server, "worker");
    const lead = both(server, worker);
    server.isDown = true;
    await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
    const records = journal.load(RunId("r"));
    const ended = records.findIndex(({ key, phase }) => phase === "end" && key.startsWith("hire:"));
    const store = cut("r", records.slice(0, ended + 1));
    const resumed = await new Runtime({ journal: store, agents: [lead, worker] }).resume("r").result;
    expect(resumed.status).toBe("failed");
    server.isDown = false;
    expect(await retried(store, lead, worker)).toMatchObject({ status: "completed", output: "both" });
    expect(server.paid.toSorted()).toEqual(["own", "w1", "w2", "w3"]);
  });
});

describe("a child that had answered a question of its parent still knows it,", () => {
  const lead = (server: Server, clerk: Agent): Agent =>
    agent("lead", async (ctx) => {
      const handle = await ctx.spawn(clerk, { input: "" });
      const answers = [await ctx.ask(handle, "one")];
      await ctx.llm(server.model, ask("x"));
      answers.push(await ctx.ask(handle, "two"));
      const outcome = await ctx.join(handle);
      if ("error" in outcome) throw outcome.error;
      return done(`${answers.join(", ")}: ${"result" in outcome ? outcome.result.output : outcome.status}`);
    });
  const clerk = (settings: { isWrong: boolean }): Agent =>
    agent("clerk", async (ctx, inbox) => {
      const seen: string[] = [];
      while (seen.length < 2) {
        const number = await ctx.random();
        const question = await inbox.receive();
        seen.push(String(question.content));
        await inbox.reply(question, `${seen.length}`);
        expect(number).toBeLessThan(1);
        if (settings.isWrong && seen.length === 1) {
          await ctx.waitFor("go");
          throw new RangeError("wrong");
        }
        if (seen.length === 1) await ctx.now();
      }
      return done(seen.join(", "));
    });

  test("if it was stopped because the parent failed", async () => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const helper = clerk({ isWrong: false });
    server.isDown = true;
    const first = new Runtime({ journal }).run(lead(server, helper), "", { runId: "r" });
    expect((await first.result).status).toBe("failed");
    server.isDown = false;
    const result = await within(retried(journal, lead(server, helper), helper));
    expect(result).toMatchObject({ status: "completed", output: "1, 2: one, two" });
  });

  test("if it failed by itself later", async () => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const settings = { isWrong: true };
    const helper = clerk(settings);
    const runtime = new Runtime({ journal });
    const onEvent = (): void => {
      if (server.paid.length === 1) void runtime.deliver("r", "go", true, { id: "go" });
    };
    const first = runtime.run(lead(server, helper), "", { runId: "r", onEvent });
    expect((await first.result).status).toBe("failed");
    settings.isWrong = false;
    const result = await within(retried(journal, lead(server, helper), helper));
    expect(result).toMatchObject({ status: "completed", output: "1, 2: one, two" });
    expect(server.paid).toEqual(["x"]);
  });
});

test.each([0, 1, 2])(
  "an agent that was given a child keeps its handle, also if all seats are taken when the run is retried, and after a crash then (failed again: %i)",
  async (times) => {
    const server = new Server();
    server.isDown = true;
    const saw: string[] = [];
    const child = agent("child", async (ctx) => done(String(await ctx.waitFor("never"))));
    const patient = agent("patient", async (ctx) => {
      await ctx.waitFor("go");
      const handle = await ctx.spawn(child, { input: "" });
      saw.push(handle.execId);
      await ctx.llm(server.model, ask("p"));
      return done((await ctx.join(handle)).status);
    });
    const hasty = agent("hasty", async (ctx) => {
      await ctx.llm(server.model, ask("h"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const [one, other] = await ctx.batch([
        { kind: "hire", agent: patient, input: "" },
        { kind: "hire", agent: hasty, input: "" },
      ]);
      for (const outcome of [one, other]) if ("error" in outcome) throw outcome.error;
      return done("result" in one ? one.result.output : "");
    });
    const options = { agents: [lead, patient, hasty, child], headcount: () => new FakeHeadcount(2) };
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, ...options });
    const { result } = runtime.run(lead, "", { runId: "r" });
    // The hasty one has failed, so its seat is free.
    await until(() =>
      journal.load(RunId("r")).some(({ key, phase }) => key === "hire:hasty#1" && phase === "end"),
    );
    await runtime.deliver("r", "go", true);
    expect((await result).status).toBe("failed");

    for (let time = 0; time < times; time++)
      expect(
        (await new Runtime({ journal, ...options }).resume("r", { retryFailed: true }).result).status,
      ).toBe("failed");

    server.isDown = false;
    const failed = journal.load(RunId("r"));
    const again = await new Runtime({ journal, ...options }).resume("r", { retryFailed: true }).result;
    expect(again).toMatchObject({ status: "completed", output: "denied" });
    const records = journal.load(RunId("r"));
    for (let entries = failed.length + 1; entries < records.length; entries++) {
      const left = cut("r", records.slice(0, entries));
      const { status, output } = await new Runtime({ journal: left, ...options }).resume("r").result;
      expect([status, output]).toEqual(["completed", "denied"]);
    }
    expect(new Set(saw)).toEqual(new Set(["r/hire:patient#1/hire:child#1"]));
  },
);

test("a child that went on after a failure, and was stopped, does not go on twice", async () => {
  const [journal, server, own] = [new MemoryJournal(), new Server(), new Server()];
  const worker = agent("worker", async (ctx) => {
    const first = await ctx.hire({ agent: failing, input: "" });
    if ("error" in first) await ctx.now();
    await ctx.waitFor("go");
    const { message } = await ctx.llm(own.model, ask("y"));
    return done(String(message.content));
  });
  const failing = agent("failing", async (ctx) => {
    await ctx.llm(server.model, ask("z"));
    return done("");
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(worker, { input: "" });
    await ctx.waitFor("lead");
    await ctx.llm(server.model, ask("x"));
    const outcome = await ctx.join(handle);
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  const runtime = new Runtime({ journal });
  server.isDown = true;
  const handle = runtime.run(lead, "", { runId: "r" });
  await until(() => journal.load(RunId("r")).some(({ key }) => key.startsWith("now")));
  await runtime.deliver("r", "lead", true);
  expect((await handle.result).status).toBe("failed");
  server.isDown = false;
  const again = new Runtime({ journal, agents: [lead, worker, failing] });
  const result = again.resume("r", { retryFailed: true }).result;
  await again.deliver("r", "go", true);
  expect(await within(result)).toMatchObject({ status: "completed", output: "to y" });
});

test.each([{ timeoutS: 60 }, { executionBudget: { deadlineS: 60 } }])(
  "no time of a hire with %o passes while the run has failed",
  async (terms) => {
    const clock = virtualClock({ now: 1_000 });
    const [journal, server] = [new MemoryJournal({ clock }), new Server()];
    let restMs = 10_000;
    const worker = agent("worker", async (ctx) => {
      await ctx.sleepUntil((await ctx.now()) + 40_000);
      const { message } = await ctx.llm(server.model, ask("x"));
      await ctx.sleepUntil((await ctx.now()) + restMs);
      return done(String(message.content));
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: worker, input: "", ...terms });
      if ("error" in outcome) throw outcome.error;
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const after = async (run: RootHandle, ms: number): Promise<RunResult> => {
      await turns();
      await clock.advance(ms);
      return run.result;
    };
    const runtime = (): Runtime => new Runtime({ journal, clock, agents: [lead, worker] });
    server.isDown = true;
    expect(await after(runtime().run(lead, "", { runId: "r" }), 40_000)).toMatchObject({ status: "failed" });
    for (let n = 0; n < 2; n++) {
      await clock.advance(600_000);
      const again = runtime().resume("r", { retryFailed: true });
      expect(await after(again, 0)).toMatchObject({ status: "failed", error: { message: "down" } });
    }
    server.isDown = false;
    await clock.advance(600_000);
    const copy = cut("r", journal.load(RunId("r")));
    const retry = runtime().resume("r", { retryFailed: true });
    await turns();
    await clock.advance(10_000);
    expect(await within(retry.result)).toMatchObject({ output: "to x" });
    // The rest of its time is not given again.
    restMs = 60_000;
    const late = new Runtime({ journal: copy, clock, agents: [lead, worker] });
    const slow = late.resume("r", { retryFailed: true });
    await turns();
    await clock.advance(25_000);
    expect((await within(slow.result)) === "pending").toBe(false);
  },
);

test.each(["a person was waited for", "the run was suspended", "a seat was waited for"])(
  "nor does the time count in which %s before it failed",
  async (why) => {
    const clock = virtualClock({ now: 1_000 });
    const [journal, server] = [new MemoryJournal({ clock }), new Server()];
    const worker = agent("worker", async (ctx) => {
      await ctx.sleepUntil((await ctx.now()) + 10_000);
      if (why === "a person was waited for") await ctx.waitFor("word");
      await ctx.sleepUntil((await ctx.now()) + 10_000);
      const { message } = await ctx.llm(server.model, ask("x"));
      await ctx.sleepUntil((await ctx.now()) + 30_000);
      return done(String(message.content));
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: worker, input: "", timeoutS: 60, onFull: "queue" });
      if ("error" in outcome) throw outcome.error;
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const seat = Promise.withResolvers<void>();
    if (why !== "a seat was waited for") seat.resolve();
    const headcount = (): FakeHeadcount => {
      const { acquire } = new FakeHeadcount();
      return Object.assign(new FakeHeadcount(), {
        acquire: async (...wanted: Parameters<typeof acquire>) => {
          await seat.promise;
          return acquire(...wanted);
        },
      });
    };
    const options = { journal, clock, agents: [lead, worker], headcount };
    const pass = async (ms: number): Promise<void> => {
      await turns(50);
      await clock.advance(ms);
      await turns(50);
    };
    server.isDown = true;
    let runtime = new Runtime(options);
    let run = runtime.run(lead, "", { runId: "r" });
    if (why === "a seat was waited for") await pass(3_600_000);
    seat.resolve();
    await pass(10_000);
    if (why === "a person was waited for") {
      await pass(3_600_000);
      await runtime.deliver("r", "word", true);
    } else if (why === "the run was suspended") {
      const closing = runtime.close();
      await pass(0);
      await closing;
      await pass(3_600_000);
      runtime = new Runtime(options);
      run = runtime.resume("r");
    }
    await pass(10_000);
    expect(await within(run.result)).toMatchObject({ status: "failed", error: { message: "down" } });
    await clock.advance(600_000);
    server.isDown = false;
    const again = new Runtime(options).resume("r", { retryFailed: true });
    await pass(30_000);
    expect(await within(again.result)).toMatchObject({ output: "to x" });
  },
);

test.each(["itself", "in a child"])(
  "a run whose own deadline has passed meanwhile calls no model any more, %s",
  async (where) => {
    const clock = virtualClock({ now: 1_000 });
    const [journal, server] = [new MemoryJournal({ clock }), new Server()];
    const worker = asker(server, "worker");
    const above = agent("above", async (ctx) => {
      const { status } = await ctx.hire({ agent: worker, input: "a" });
      if (status === "failed") throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
      return done(status);
    });
    const lead = where === "itself" ? worker : above;
    const options = { runId: "r", executionBudget: { deadlineS: 60 } };
    const runtime = (): Runtime => new Runtime({ journal, clock, agents: [lead, worker] });
    server.isDown = true;
    expect((await runtime().run(lead, "a", options).result).status).toBe("failed");
    server.isDown = false;
    await clock.advance(60_001);
    await runtime().resume("r", { retryFailed: true }).result;
    expect(server.paid).toEqual([]);
  },
);

test("what the failed calls may have cost stays charged, once", async () => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const lead = asker(server);
  const runtime = (): [Runtime, FakeLedger] => {
    const ledger = new FakeLedger({ maxTokens: 100_000 });
    return [new Runtime({ journal, ledger: () => ledger, agents: [lead] }), ledger];
  };
  const [first] = runtime();
  server.isDown = true;
  // Nobody knows whether it was paid for, so all that was set aside is charged.
  const { inputTokens, outputTokens } = (await first.run(lead, "a", { runId: "r" }).result).usage;
  server.isDown = false;
  const [second, ledger] = runtime();
  const result = await second.resume("r", { retryFailed: true }).result;
  expect(result.usage).toMatchObject({ inputTokens: inputTokens + 30, outputTokens: outputTokens + 3 });
  expect(ledger.used).toMatchObject({ tokens: inputTokens + outputTokens + 33, turns: 4 });
  expect(result.agents).toMatchObject([{ modelCalls: 3, retries: 1 }]);
});

describe("a child that failed, and whose parent went on,", () => {
  const down = new ProviderError({ kind: "SERVER_ERROR", message: "down" });
  const failing = (server: Server): Agent =>
    agent("worker", async (ctx) => {
      await ctx.llm(server.model, ask("x"));
      return done("");
    });

  test("stays failed if its parent has called a model since, even if that failed with the same words", async () => {
    const [journal, server, own] = [new MemoryJournal(), new Server(), new Server()];
    const worker = failing(server);
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: worker, input: "" });
      await ctx.llm(own.model, ask(status));
      throw down;
    });
    server.isDown = true;
    await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
    server.isDown = false;
    expect(await retried(journal, lead, worker)).toMatchObject({
      status: "failed",
      error: { message: "down" },
    });
    expect([server.paid, own.paid]).toEqual([[], ["failed"]]);
  });

  test("goes on if its parent had spawned it and failed with it when it joined it", async () => {
    const [journal, server, own] = [new MemoryJournal(), new Server(), new Server()];
    const worker = failing(server);
    const lead = agent("lead", async (ctx) => {
      const child = await ctx.spawn(worker, { input: "" });
      await until(() => child.status !== "running");
      // In the same outage. The parent has not seen what became of its child.
      await ctx.llm(own.model, ask("mine"));
      const outcome = await ctx.join(child);
      if ("error" in outcome) throw outcome.error;
      return done(outcome.status);
    });
    server.isDown = own.isDown = true;
    await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
    server.isDown = own.isDown = false;
    expect(await retried(journal, lead, worker)).toMatchObject({
      status: "failed",
      error: { message: "down" },
    });
    expect([server.paid, own.paid]).toEqual([[], ["mine"]]);
    expect(await retried(journal, lead, worker)).toMatchObject({ status: "completed", output: "completed" });
    expect([server.paid, own.paid]).toEqual([["x"], ["mine"]]);
  });

  test("stays failed if its parent failed with something else", async () => {
    const [journal, server] = [new MemoryJournal(), new Server()];
    const worker = failing(server);
    const settings = { isWrong: true };
    const helper = agent("helper", async () => done(""));
    const lead = agent("lead", async (ctx) => {
      const first = await ctx.hire({ agent: worker, input: "" });
      const second = await ctx.hire({ agent: helper, input: "" });
      if (settings.isWrong) throw new ProviderError({ kind: "AUTH", message: "no key" });
      return done(`${first.status}, ${second.status}`);
    });
    server.isDown = true;
    await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
    server.isDown = settings.isWrong = false;
    expect(await retried(journal, lead, worker, helper)).toMatchObject({ output: "failed, completed" });
    expect(server.paid).toEqual([]);
  });
});

test.each(["cancelled", "completed"])("a run that is %s is not run again", async (status) => {
  const [journal, server] = [new MemoryJournal(), new Server()];
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(server.model, ask("x"));
    if (status === "cancelled") await ctx.waitFor("never");
    return done("");
  });
  const handle = new Runtime({ journal }).run(lead, "", { runId: "r" });
  for await (const { event } of handle.events()) if (event.type === "usage") break;
  if (status === "cancelled") handle.cancel("enough");
  await handle.result;
  expect(await retried(journal, lead)).toMatchObject({ status });
  expect(server.paid).toEqual(["x"]);
});

test("retryFailed that is no boolean is refused", async () => {
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const options = { retryFailed: "yes" as never };
  await expect(runtime.resume("r", options).result).rejects.toThrow("resume options.retryFailed");
});

describe("a run that is partial because a part of it failed,", () => {
  /** What a flow does: hires all, and has part of an answer if some of them failed. */
  function flow(name: string, ...workers: readonly Agent[]): Agent {
    return agent(name, async (ctx, { input }) => {
      const outcomes = await ctx.batch(workers.map((worker) => ({ kind: "hire", agent: worker, input })));
      const output = outcomes.map((each) => ("result" in each ? each.result.output : each.status)).join("; ");
      if (outcomes.every(({ status }) => status === "completed")) return done(output);
      return { status: "partial", output, stopReason: "failed" };
    });
  }

  const broken = (server: Server): Agent =>
    agent("broken", async (ctx, { input }) => {
      const { message } = await ctx.llm(server.model, ask(`${input}?`));
      return done(String(message.content));
    });

  /** Its output while the server is down, then that of the retry. */
  async function bothTimes(lead: Agent, server: Server, agents: readonly Agent[]): Promise<RunResult[]> {
    const journal = new MemoryJournal();
    server.isDown = true;
    const first = await new Runtime({ journal }).run(lead, "a", { runId: "r" }).result;
    server.isDown = false;
    expect(await new Runtime({ journal, agents: [lead] }).resume("r").result).toMatchObject({
      status: first.status,
      output: first.output,
    });
    return [first, await retried(journal, lead, ...agents)];
  }

  test("goes on with what failed, and nothing else is done again", async () => {
    const server = new Server();
    let runs = 0;
    const quick = agent("quick", async () => done(String(++runs)));
    const worker = broken(server);
    const lead = flow("lead", quick, worker);
    const [first, second] = await bothTimes(lead, server, [quick, worker]);
    expect(first).toMatchObject({ status: "partial", stopReason: "failed", output: "1; failed" });
    expect(second).toMatchObject({ status: "completed", stopReason: "done", output: "1; to a?" });
    expect([runs, server.paid]).toEqual([1, ["a?"]]);
  });

  test("also if that was a part of a part", async () => {
    const server = new Server();
    let runs = 0;
    const quick = agent("quick", async () => done(String(++runs)));
    const worker = broken(server);
    const inner = flow("inner", quick, worker);
    const lead = flow("lead", quick, inner);
    const [first, second] = await bothTimes(lead, server, [quick, worker, inner]);
    expect(first).toMatchObject({ status: "partial", output: expect.stringMatching(/^\d; \d; failed$/) });
    expect(second).toMatchObject({
      status: "completed",
      output: String(first?.output).replace("failed", "to a?"),
    });
    expect([runs, server.paid]).toEqual([2, ["a?"]]);
  });

  test("stays so if it was cut off by something else", async () => {
    const server = new Server();
    const worker = broken(server);
    const lead = agent("lead", async (ctx, { input }) => {
      const outcome = await ctx.hire({ agent: worker, input });
      return { status: "partial", output: outcome.status, stopReason: "steps" };
    });
    const [, second] = await bothTimes(lead, server, [worker]);
    expect([second?.status, server.paid]).toEqual(["partial", []]);
  });

  test("stays so if what it said is in a conversation by now: it would be said twice", async () => {
    const server = new Server();
    const journal = new MemoryJournal();
    const worker = broken(server);
    const lead = agent("lead", async (ctx, { input }) => {
      await ctx.remember({ role: "user", content: input });
      const outcome = await ctx.hire({ agent: worker, input });
      await ctx.remember({ role: "assistant", content: outcome.status });
      return { status: "partial", output: outcome.status, stopReason: "failed" };
    });
    const stored: ChatMessage[] = [];
    const history: HistoryProvider = {
      load: () => ({ messages: stored, head: stored.length }),
      append: (_, messages) => void stored.push(...messages),
      clear() {},
    };
    server.isDown = true;
    await new Runtime({ journal, history }).run(lead, "a", { runId: "r", sessionId: "s" }).result;
    server.isDown = false;
    const again = new Runtime({ journal, history, agents: [lead, worker] });
    expect((await again.resume("r", { retryFailed: true }).result).status).toBe("partial");
    expect(stored).toHaveLength(2);
    expect(server.paid).toEqual([]);
  });
});
