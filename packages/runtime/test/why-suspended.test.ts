import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test, vi } from "vitest";
import {
  ExecId,
  type Journal,
  type JournalEntry,
  type JsonObject,
  RunId,
  type RunSummary,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { agent, ask, done } from "./support/helpers.ts";

const model = scriptedModel(() => "ok", { record: false });
const waiterThatAsks = (question: string) =>
  agent("waiter", async (ctx) => {
    await ctx.llm(model, ask(question));
    await ctx.waitFor("answer");
    return done("");
  });

async function listed(journal: Journal): Promise<Pick<RunSummary, "status" | "error"> | undefined> {
  const [run] = await journal.list();
  const alone = await journal.summary?.(RunId("r"));
  expect(alone?.error).toEqual(run?.error);
  return run && { status: run.status, error: run.error };
}

async function suspended(journal: Journal): Promise<void> {
  const runtime = new Runtime({ journal });
  const handle = runtime.run(waiterThatAsks("how are you?"), "", { runId: "r" });
  for await (const { event } of handle.events()) if (event.type === "usage") break;
  expect(await listed(journal)).toEqual({ status: "running" });
  await runtime.close({ reason: "version 2 is deployed" });
}

describe.each<[string, () => Journal]>([
  ["in memory", () => new MemoryJournal()],
  ["in SQLite", () => SqliteJournal.open(temporaryDirectory())],
])("the list of runs, %s,", (_, open) => {
  test("says why a run is suspended, until it goes on", async () => {
    const journal = open();
    await suspended(journal);
    const deployed = { code: "SUSPENDED", message: "suspended: version 2 is deployed" };
    expect(await listed(journal)).toEqual({ status: "suspended", error: deployed });

    const changed = new Runtime({ journal, agents: [waiterThatAsks("who are you?")] });
    await changed.resume("r").result;
    expect(await listed(journal)).toMatchObject({
      status: "suspended",
      error: { code: "NON_DETERMINISM", message: expect.stringContaining("have changed") },
    });

    const same = new Runtime({ journal, agents: [waiterThatAsks("how are you?")] });
    await same.deliver("r", "answer", 1);
    expect((await same.resume("r").result).status).toBe("completed");
    expect(await listed(journal)).toEqual({ status: "completed" });
  });

  test("cuts a long reason of a cancelled run as it cuts a long error; the run ends with all of it", async () => {
    const journal = open();
    await suspended(journal);
    const reason = "x".repeat(5_000);
    await new Runtime({ journal }).cancel("r", reason);
    const cut = `${"x".repeat(1_000)}…`;
    expect(await journal.list()).toMatchObject([{ runId: "r", cancelReason: cut }]);
    expect(await journal.summary?.(RunId("r"))).toMatchObject({ cancelReason: cut });
    expect(await new Runtime({ journal }).inspect("r")).toMatchObject({ cancelReason: cut });
    // The same for a journal without reasons in its summaries.
    const { summary } = journal;
    const plain = async (runId: RunId) => ({
      ...(await summary?.call(journal, runId)),
      cancelReason: undefined,
    });
    Object.assign(journal, { summary: plain });
    expect(await new Runtime({ journal }).inspect("r")).toMatchObject({ cancelReason: cut });
    Object.assign(journal, { summary });
    const again = new Runtime({ journal, agents: [waiterThatAsks("how are you?")] });
    expect(await again.resume("r").result).toMatchObject({ status: "cancelled", error: { reason } });
    await journal.close();
  });
});

test("a suspended run of which something is damaged is listed, without its reason if it is that, and hides no other", async () => {
  const directory = temporaryDirectory();
  await using journal = SqliteJournal.open(directory);
  await suspended(journal);
  const intact = await listed(journal);
  expect(intact).toMatchObject({ status: "suspended", error: { code: "SUSPENDED" } });
  using db = new DatabaseSync(join(directory, "ravi.db"));
  db.exec("UPDATE log SET data = substr(data, 2)");
  expect(await listed(journal)).toEqual(intact);
  for (const damage of ["substr(error, 2)", "'7'", "'{}'", "''", "x'00'", "NULL"]) {
    db.exec(`UPDATE runs SET error = ${damage}`);
    expect(await listed(journal)).toEqual({ status: "suspended" });
  }
});

test("a list of runs in memory reads no result and no post of them", async () => {
  const journal = new MemoryJournal();
  for (const id of ["a", "b"]) {
    const run = RunId(id);
    const epoch = journal.claim(run, "o", 1_000)?.epoch ?? 0;
    const note = (key: string, body: JsonObject): JournalEntry => {
      return { exec: ExecId(run), key, attempt: 1, phase: "note", at: 1, body };
    };
    const error = { code: null, message: "broken" };
    journal.append(run, epoch, [note("run:start", { agent: "a@1" })]);
    journal.append(run, epoch, [
      note("run:status", { status: "suspended", error, output: "x".repeat(1_000) }),
    ]);
    for (const value of [null, "too late"])
      journal.post(run, { id: String(value), kind: "cancel", name: "cancel", value, at: 1 });
  }
  using parse = vi.spyOn(JSON, "parse");
  const told = { error: { code: null, message: "broken" }, cancelReason: "cancelled from outside" };
  const found = journal.list();
  expect(found).toMatchObject([told, told]);
  // Of its own, so that nobody changes what the next one gets.
  expect(journal.list()[0]?.error).not.toBe(found[0]?.error);
  expect(parse).not.toHaveBeenCalled();
});
