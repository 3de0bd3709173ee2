import { describe, expect, onTestFinished, test } from "vitest";
import { openPage } from "@ravi/devtools";
import {
  type Agent,
  AgentId,
  type AgentResult,
  type Clock,
  type PendingWait,
  type RunContext,
  type RunEvent,
  type RunSummary,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const agent = (name: string, run: (ctx: RunContext) => Promise<AgentResult>): Agent => ({
  id: AgentId(name),
  run,
});

/** Asks for a colour, and says it. */
const painter = agent("painter", async (ctx) => done(JSON.stringify(await ctx.waitFor("colour"))));

/** A page on a real runtime, and its server as the page asks it. */
async function opened(clock?: Clock) {
  const runtime = new Runtime({ clock, journal: new MemoryJournal({ clock }) });
  const page = await openPage(runtime);
  onTestFinished(async () => {
    await page.close();
    await runtime.close();
  });
  const [address, key] = page.url.split("#key=");
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (
    path: string,
    body?: unknown,
  ): Promise<{ status: number; told: Record<string, unknown> }> => {
    const sent = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
    const response = await fetch(new URL(path, address), sent);
    return { status: response.status, told: (await response.json()) as Record<string, unknown> };
  };
  return { runtime, ask };
}

/** What a run waits for, as soon as it waits. */
async function waitOf(runtime: Runtime, many = 1): Promise<PendingWait | undefined> {
  for (;;) {
    const [run] = await runtime.list();
    const waits = run?.waitingFor ?? [];
    if (waits.length >= many) return waits[0];
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the page of devtools on a runtime", () => {
  test("tells the runs, and what is on record of one", async () => {
    const { runtime, ask } = await opened();
    for (const runId of ["one", "a/b c?#%"]) {
      const lead = agent("lead", async () => done("hello"));
      await runtime.run(lead, "Say hello", { runId }).result;
    }
    const { told: list } = await ask("/api/runs?limit=1&run=one");
    expect(list).toMatchObject({ total: 2, selected: { runId: "one", status: "completed" } });
    expect(list["runs"] as RunSummary[]).toHaveLength(1);
    const path = `/api/runs/${encodeURIComponent("a/b c?#%")}`;
    const { told: shown } = await ask(path);
    expect(shown).toMatchObject({
      report: { input: "Say hello", agents: [{ agentId: "lead" }], result: { output: "hello" } },
      agentsInAll: 1,
    });
    const { told: log } = await ask(`${path}/events`);
    expect((log["events"] as RunEvent[]).map(({ event }) => event.type)).toEqual(["started", "completed"]);
    const { told: rest } = await ask(`${path}/events?after=1`);
    expect(rest).toMatchObject({ from: 1, total: 2, events: [{ event: { type: "completed" } }] });
    expect(await ask("/api/runs/none")).toMatchObject({
      status: 409,
      told: { error: expect.stringContaining("none") },
    });
  });

  test("passes an answer on; a second one to the same question does not count", async () => {
    const { runtime, ask } = await opened();
    const handle = runtime.run(painter, "", { runId: "door" });
    const wait = await waitOf(runtime);
    const body = { ...wait, value: "blue" };
    expect(await ask("/api/runs/door/answers", body)).toEqual({ status: 200, told: {} });
    const { status } = await ask("/api/runs/door/answers", { ...body, value: "red" });
    expect([200, 409]).toContain(status);
    expect((await handle.result).output).toBe('"blue"');
    const late = await ask("/api/runs/door/answers", { ...body, since: 1 });
    expect(late).toMatchObject({ status: 409, told: { error: expect.stringContaining("door") } });
  });

  test("two agents that wait for the same name since the same moment each get an answer", async () => {
    const moment = Date.now();
    const { runtime, ask } = await opened({ now: () => moment });
    const lead = agent("lead", async (ctx) => {
      const hire = { kind: "hire", agent: painter, input: "" } as const;
      const both = await ctx.batch([hire, hire]);
      return done(both.map((one) => ("result" in one ? one.result.output : one.status)).join());
    });
    const handle = runtime.run(lead, "", { runId: "door" });
    await waitOf(runtime, 2);
    for (const value of ["blue", "red"]) {
      const { told } = await ask("/api/runs/door");
      const [wait] = (told["report"] as RunSummary).waitingFor ?? [];
      expect(await ask("/api/runs/door/answers", { ...wait, value })).toEqual({ status: 200, told: {} });
    }
    expect((await handle.result).output).toBe('"blue","red"');
  });

  test("an answer to a question that somebody else has answered meanwhile is none to the next one of that name", async () => {
    const { runtime, ask } = await opened();
    const lead = agent("lead", async (ctx) => {
      const hire = { kind: "hire", agent: painter, input: "" } as const;
      const both = await ctx.batch([hire, hire]);
      return done(both.map((one) => ("result" in one ? one.result.output : one.status)).join());
    });
    const handle = runtime.run(lead, "", { runId: "door" });
    const seen = await waitOf(runtime, 2);
    await runtime.deliver("door", "colour", "green");
    for (let left = 2; left > 1; left = (await runtime.list())[0]?.waitingFor?.length ?? 0)
      await new Promise((resolve) => setImmediate(resolve));
    const late = await ask("/api/runs/door/answers", { ...seen, value: "blue" });
    expect(late).toMatchObject({ status: 409, told: { error: expect.stringContaining("colour") } });
    await ask("/api/runs/door/answers", { ...(await waitOf(runtime)), value: "red" });
    expect((await handle.result).output).toBe('"green","red"');
  });

  test("cancels a run for the reason that was given", async () => {
    const { runtime, ask } = await opened();
    const handle = runtime.run(painter, "", { runId: "door" });
    await waitOf(runtime);
    expect((await ask("/api/runs/door/cancel", { reason: "wrong door" })).status).toBe(200);
    const result = await handle.result;
    expect(result.status).toBe("cancelled");
    expect(result.error?.message).toContain("wrong door");
  });
});
