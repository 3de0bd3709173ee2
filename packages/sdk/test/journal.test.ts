import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { AgentId, ProviderError } from "@ravi/kernel";
import { MemoryJournal, SqliteJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { type Agent, agent, cancel, deliver, resume, run, runs, start, startResume, tool } from "@ravi/sdk";

let journal: string;
beforeEach(async () => {
  journal = await mkdtemp(join(tmpdir(), "ravi-sdk-"));
});
afterEach(() => rm(journal, { recursive: true, force: true }));

/** Sends a letter, if somebody approves. */
function clerk() {
  const sent: string[] = [];
  const send = tool({
    name: "send",
    description: "Sends a letter.",
    input: z.object({ to: z.string() }),
    needsApproval: true,
    execute: ({ to }) => void sent.push(to),
  });
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return last.isError === true ? "It was not sent." : "It is sent.";
    return { toolCalls: [{ name: "send", arguments: { to: "Ada" } }] };
  });
  return { agent: agent({ name: "clerk", model, tools: [send] }), model, sent };
}

/** Starts it and waits until it asks; gives the name to answer under. */
async function asked(handle: ReturnType<typeof start>): Promise<string> {
  for await (const { event } of handle.events()) {
    if (event.type !== "progress" || event.name !== "approvalRequested") continue;
    return (event.data as { name: string }).name;
  }
  throw new Error("nothing was asked");
}

describe("a run with a journal", () => {
  test("is suspended by its handle, listed, answered from outside, and goes on without paying twice", async () => {
    const first = clerk();
    const handle = start(first.agent, "Write to Ada", { journal, runId: "letter", tenantId: "acme" });
    const name = await asked(handle);
    const { status, error } = await handle.suspend();
    expect([status, error?.message]).toEqual(["suspended", "suspended: suspend() was called"]);
    expect(await runs({ journal })).toMatchObject([
      { runId: "letter", status: "suspended", tenantId: "acme" },
    ]);

    await deliver("letter", name, true, { journal });
    const second = clerk();
    const result = await resume("letter", { agents: [second.agent], journal });
    expect(result).toMatchObject({ status: "completed", output: "It is sent.", inDoubt: [] });
    expect(second.sent).toEqual(["Ada"]);
    expect([first.model.calls.length, second.model.calls.length]).toEqual([1, 1]);
    expect(result.limits.budget.usd).toBe(1);
    expect(result.tree.root.calls.map(({ kind }) => kind)).toEqual(["llm", "tool", "llm"]);
  });

  test("finds a journal that works again once its cause is mended, while another run still waits", async () => {
    const waits = start(clerk().agent, "Write to Ada", { journal, runId: "letter" });
    await asked(waits);
    using disk = new DatabaseSync(join(journal, "ravi.db"));
    disk.exec("CREATE TRIGGER full BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'disk is full'); END");
    const greeter = agent({ name: "greeter", model: scriptedModel(["Hello."]) });
    await expect(run(greeter, "Hi", { journal })).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    disk.exec("DROP TRIGGER full");
    expect(await run(greeter, "Hi", { journal })).toMatchObject({ status: "completed", output: "Hello." });
    expect(await runs({ journal })).toMatchObject([{ runId: "letter" }, {}, { status: "completed" }]);
    await expect(waits.suspend()).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  });

  test("goes on after an outage if it is asked to, and pays for nothing again", async () => {
    let isDown = true;
    const look = tool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "rain" });
    const model = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role !== "tool") return { toolCalls: [{ name: "look", arguments: {} }] };
      if (isDown) throw new ProviderError({ kind: "AUTH", message: "the key has expired" });
      return "It rains.";
    });
    const reporter = agent({ name: "reporter", model, tools: [look] });
    expect(await run(reporter, "Weather?", { journal, runId: "w" })).toMatchObject({ status: "failed" });
    isDown = false;
    expect(await resume("w", { agents: reporter, journal })).toMatchObject({ status: "failed" });
    expect(model.calls).toHaveLength(2);
    const result = await resume("w", { agents: reporter, journal, retryFailed: true });
    expect(result).toMatchObject({ status: "completed", output: "It rains." });
    expect(model.calls).toHaveLength(3);
  });

  test("adds to its conversation behind others of the same session that run at once", async () => {
    const model = scriptedModel(({ messages }) => `I know ${messages.length}.`);
    const options = { journal, sessionId: "chat" };
    const chat = agent({ name: "chat", model });
    await Promise.all(["one", "two", "three"].map((input) => run(chat, input, options)));
    expect(await run(chat, "four", options)).toMatchObject({ status: "completed", output: "I know 7." });
  });

  test("that cannot be started says why, even if its journal cannot be closed", async () => {
    const closed = Promise.withResolvers<void>();
    const close = vi.spyOn(SqliteJournal.prototype, "close").mockImplementation(async function (this: {
      readonly db: DatabaseSync;
    }) {
      this.db.close();
      closed.resolve();
      throw new Error("the disk is gone");
    });
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    onTestFinished(() => {
      close.mockRestore();
      process.off("unhandledRejection", note);
    });
    const wrong = { journal, priority: "urgent" } as object;
    expect(() => start(clerk().agent, "Hi", wrong)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE" }),
    );
    await closed.promise;
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  });

  test("fails, and lets go of its journal, where its conversation cannot be opened", async () => {
    await writeFile(join(journal, "sessions"), "no folder");
    const chat = agent({ name: "chat", model: scriptedModel(["Hello."]) });
    const result = await run(chat, "Hi", { journal, sessionId: "chat" });
    expect(result).toMatchObject({ status: "failed", error: { code: "INVALID_VALUE" } });
    // SQLite takes its log away when the last one closes the file.
    expect(existsSync(join(journal, "ravi.db-wal"))).toBe(false);
  });

  test("gives its result again when it is over, and runs nothing", async () => {
    const model = scriptedModel(["Hello."]);
    const greeter = agent({ name: "greeter", model });
    await run(greeter, "Hi", { journal, runId: "hi" });
    expect(await resume("hi", { agents: greeter, journal })).toMatchObject({
      status: "completed",
      output: "Hello.",
    });
    expect(model.calls).toHaveLength(1);
    await expect(run(greeter, "Hi", { journal, runId: "hi" })).rejects.toThrow(
      /call resume\(\) to continue that run/,
    );
  });

  test("takes an answer that is said again under the same id for one, by its handle and from outside", async () => {
    const raised: Agent = {
      id: AgentId("raised"),
      run: async (ctx) => {
        const answers = [await ctx.waitFor("raise"), await ctx.waitFor("raise")];
        return { status: "completed", output: answers.join(" "), stopReason: "done" };
      },
    };
    const handle = start(raised, "", { journal, runId: "raised" });
    await expect(handle.deliver("rise", 5, { mustWait: true })).rejects.toThrow(/rise/);
    await handle.deliver("raise", 5, { id: "click-1" });
    await deliver("raised", "raise", 5, { journal, id: "click-1" });
    await deliver("raised", "raise", 1, { journal, id: "click-2" });
    expect((await handle.result).output).toBe("5 1");
    const misspelt = { journal, key: "x" };
    await expect(deliver("raised", "raise", 1, misspelt)).rejects.toThrow(/no field of that name/);
  });

  test("is answered through its handle, and a no is a result for the model", async () => {
    const { agent: who, sent } = clerk();
    const handle = start(who, "Write to Ada", { journal });
    await handle.deliver(await asked(handle), { approved: false, reason: "not today" });
    expect((await handle.result).output).toBe("It was not sent.");
    expect(sent).toEqual([]);
  });

  test("that is over says so to whoever still answers it", async () => {
    const { agent: who } = clerk();
    const handle = start(who, "Write to Ada", { journal });
    const name = await asked(handle);
    await handle.suspend();
    await expect(handle.deliver(name, true)).rejects.toThrow(/this one is suspended: use deliver\(runId/);
    await expect(handle.send("more")).rejects.toThrow(/this one is suspended: startResume continues it/);
    await deliver(handle.runId, name, true, { journal });
    const again = startResume(handle.runId, { agents: who, journal });
    expect((await again.result).status).toBe("completed");
    await expect(again.deliver(name, true)).rejects.toThrow(/this one is completed/);
    await expect(again.send("more")).rejects.toThrow(/this one is completed/);
  });

  test("is cancelled from outside", async () => {
    const handle = start(clerk().agent, "Write to Ada", { journal });
    await asked(handle);
    await cancel(handle.runId, "changed my mind", { journal });
    expect((await handle.result).status).toBe("cancelled");
  });

  test("is found only by its agent", async () => {
    const { agent: who } = clerk();
    const handle = start(who, "Write to Ada", { journal });
    await asked(handle);
    await handle.suspend();
    const other = agent({ name: "other", model: scriptedModel(["Hi."]) });
    await expect(resume(handle.runId, { agents: other, journal })).rejects.toMatchObject({
      code: "AGENT_NOT_FOUND",
    });
    await expect(resume("nobody", { agents: who, journal })).rejects.toThrow(
      /the id of a run in the journal/,
    );
  });

  test("a folder without a journal is refused too, and none is made in it: it may be one above the right one", async () => {
    const who = clerk().agent;
    expect(await runs({ journal })).toEqual([]);
    await expect(resume("r", { agents: who, journal })).rejects.toThrow(/this one has no ravi\.db/);
    await expect(deliver("r", "go", true, { journal })).rejects.toThrow(/this one has no ravi\.db/);
    await expect(cancel("r", "no", { journal })).rejects.toThrow(/this one has no ravi\.db/);
    expect(await readdir(journal)).toEqual([]);
  });

  test("a misspelt directory is refused and not made, so that no answer is left where nobody looks", async () => {
    const elsewhere = join(journal, "mispelt");
    const { agent: who } = clerk();
    await expect(resume("r", { agents: who, journal: elsewhere })).rejects.toThrow(/this one does not exist/);
    await expect(deliver("r", "go", true, { journal: elsewhere })).rejects.toThrow(/this one does not exist/);
    await expect(cancel("r", "no", { journal: elsewhere })).rejects.toThrow(/this one does not exist/);
    expect(await runs({ journal: elsewhere })).toEqual([]); // as at the first start of a server
    expect(existsSync(elsewhere)).toBe(false);
  });

  test("a run that is not on record cannot be cancelled, and without a journal nothing can be looked for", async () => {
    const { agent: who } = clerk();
    const handle = start(who, "Write to Ada", { journal });
    await asked(handle);
    await handle.suspend();
    await expect(cancel("typo", "no", { journal })).rejects.toMatchObject({ field: "runId" });
    // @ts-expect-error A caller in JavaScript.
    await expect(runs({})).rejects.toMatchObject({
      field: "journal",
      expected: expect.stringContaining("directory"),
    });
    // @ts-expect-error A caller in JavaScript.
    await expect(cancel("r", "no", {})).rejects.toMatchObject({ field: "journal" });
    await expect(runs({ journal: "" })).rejects.toMatchObject({ field: "journal" });
    // @ts-expect-error A caller in JavaScript, whose command line had no id.
    await expect(resume(undefined, { agents: who, journal })).rejects.toThrow(/runId is undefined/);
  });

  test("resume says where the agents go to whoever gives them as run takes them, or not at all", async () => {
    const who = agent({ name: "greeter", model: scriptedModel(() => "Hello.") });
    const { runId } = await run(who, "Hi", { journal });
    // @ts-expect-error A caller in JavaScript.
    await expect(resume(runId, who, { journal })).rejects.toMatchObject({
      field: "resume options",
      expected: expect.stringContaining("resume(runId, { agents: agent, journal })"),
    });
    // @ts-expect-error A caller in JavaScript.
    await expect(resume(runId, { journal })).rejects.toMatchObject({ field: "agents" });
    // @ts-expect-error A caller in JavaScript.
    await expect(resume(runId, { agents: [who, {}], journal })).rejects.toMatchObject({ field: "agents[1]" });
    expect((await resume(runId, { agents: who, journal })).output).toBe("Hello.");
  });

  test("that could not be started ends its events, and says why to whoever asks for the result after them", async () => {
    const lost: unknown[] = [];
    const keep = (error: unknown): void => void lost.push(error);
    process.on("unhandledRejection", keep);
    const greeter = agent({ name: "greeter", model: scriptedModel(() => "Hello.") });
    await run(greeter, "Hi", { journal, runId: "taken" });
    const handle = start(greeter, "Hi", { journal, runId: "taken" });
    expect(await Array.fromAsync(handle.events())).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", keep);
    await expect(handle.result).rejects.toThrow(/runId is "taken"/);
    expect(lost).toEqual([]);
  });

  test("the journal of a directory is closed when its last run is over; one of the user's own stays open", async () => {
    const greeter = agent({ name: "greeter", model: scriptedModel(() => "Hello.") });
    await Promise.all([run(greeter, "Hi", { journal }), run(greeter, "Hi", { journal })]);
    // SQLite takes its side files away when the last connection is closed.
    expect(existsSync(join(journal, "ravi.db"))).toBe(true);
    expect(existsSync(join(journal, "ravi.db-wal"))).toBe(false);
    const own = new MemoryJournal();
    await run(greeter, "Hi", { journal: own, runId: "mine" });
    expect(own.list()).toMatchObject([{ runId: "mine", status: "completed" }]);
  });

  test("with a clock of one's own, its claims go by that clock", async () => {
    const clock = virtualClock({ now: 1_000 });
    const greeter = agent({ name: "greeter", model: scriptedModel(() => "Hello.") });
    expect((await run(greeter, "Hi", { journal, clock })).status).toBe("completed");
    expect(await runs({ journal, clock })).toMatchObject([{ startedAt: 1_000 }]);
    expect(existsSync(join(journal, "ravi.db-wal"))).toBe(false);
  });

  test("a journal that cannot be opened is an error, and a second run of one id leaves it closed", async () => {
    const greeter = agent({ name: "greeter", model: scriptedModel(() => "Hello.") });
    await writeFile(join(journal, "a-file"), "");
    await expect(run(greeter, "Hi", { journal: join(journal, "a-file", "inside") })).rejects.toMatchObject({
      code: "INVALID_VALUE",
    });
    await expect(run(greeter, "Hi", { journal, runId: "" })).rejects.toThrow(/runId/);
    expect(existsSync(join(journal, "ravi.db-wal"))).toBe(false);
  });

  test("keeps conversations beside it, and nothing of a run that belongs to none", async () => {
    const model = scriptedModel(({ messages }) => `I have heard ${messages.length}.`);
    const who = agent({ name: "who", model });
    await run(who, "One", { journal });
    expect(existsSync(join(journal, "sessions"))).toBe(false);
    await run(who, "One", { journal, sessionId: "s" });
    expect(existsSync(join(journal, "sessions"))).toBe(true);
    expect((await run(who, "Two", { journal, sessionId: "s" })).output).toBe("I have heard 3.");
  });
});

test("T5: on a full disk, a run whose journal no other run has open is not refused as a mistake: it may be started again", async () => {
  await run(agent({ name: "greeter", model: scriptedModel(["Hello."]) }), "Hi", { journal });
  const program = `
    import { agent, run } from "@ravi/sdk";
    const [journal] = process.argv.slice(1);
    const failed = run(agent({ name: "greeter", model: "openai:none" }), "Hi", { journal });
    const { code, retryable } = await failed.catch((error) => error);
    console.log(JSON.stringify([code, retryable]));`;
  const node = [process.execPath, "--no-warnings", "--conditions=@ravi/source", "--input-type=module"];
  // Files of eight blocks at most, which is less than the index of a write-ahead log needs.
  const args = ["-c", 'ulimit -f 8; exec "$@"', "sh", ...node, "-e", program, journal];
  const { stdout } = await promisify(execFile)("sh", args, { cwd: import.meta.dirname });
  expect(JSON.parse(stdout)).toEqual(["JOURNAL_FAILED", true]);
});

test("another process sees what a run waits for, and is told if it answers one that is not there", async () => {
  const { agent: who, sent } = clerk();
  const handle = start(who, "Write to Ada", { journal, runId: "letter" });
  const name = await asked(handle);
  await handle.suspend();
  const question = { tool: "send", arguments: JSON.stringify({ to: "Ada" }) };
  const wait = { kind: "approval", name, agentId: "clerk", execId: "letter", question };
  expect(await runs({ journal })).toMatchObject([
    { runId: "letter", status: "suspended", waitingFor: [wait] },
  ]);
  const yes = (runId: string) => deliver(runId, name, true, { journal, mustExist: true });
  await expect(yes("leter")).rejects.toMatchObject({ code: "INVALID_VALUE", field: "runId" });
  await expect(deliver("letter", "approvl", true, { journal, mustWait: true })).rejects.toThrow(
    `name is "approvl"; expected a name that run letter waits for now: ${JSON.stringify(name)}`,
  );
  await yes("letter");
  expect((await runs({ journal }))[0]?.waitingFor).toBeUndefined();
  expect((await resume("letter", { agents: who, journal })).status).toBe("completed");
  expect(sent).toEqual(["Ada"]);
  await expect(yes("letter")).rejects.toThrow(
    /expected the id of a run that has not ended; this one is completed/,
  );
});

test("options of a new run are not taken by `resume`: they are on record", () => {
  const who = clerk().agent;
  const wrong = { agents: who, journal, budget: { usd: 5 } };
  expect(() => startResume("letter", wrong)).toThrow(/resume options\.budget/);
  expect(() => startResume("letter", { agents: who } as never)).toThrow(/resume options\.journal/);
  expect(() => startResume("letter", { agents: [{}] as never, journal })).toThrow(/agents\[0\]/);
});

test("a crash of an agent's own code is started again from the journal, and pays for nothing twice", async () => {
  const model = scriptedModel(() => "Hello.");
  let crashes = 0;
  const inner = agent({ name: "inner", model });
  const shaky = {
    id: inner.id,
    async run(...args: Parameters<typeof inner.run>) {
      const result = await inner.run(...args);
      if (crashes++ === 0) throw new TypeError("a slip");
      return result;
    },
  };
  const restart = { shouldRetry: () => true, delayMs: () => 0, reset() {} };
  expect(await run(shaky, "Hi", { journal, restart })).toMatchObject({
    status: "completed",
    output: "Hello.",
  });
  expect(model.calls).toHaveLength(1);
  crashes = 0;
  expect(await run(shaky, "Hi", { journal, restart: false })).toMatchObject({ status: "failed" });
});
