import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool } from "@ravi/kernel";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { FileSessionStore, MemorySessionStore, SessionAgent } from "@ravi/session";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ravi-session-locks-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A process of a container: those of other containers do not see it. */
const container = (me: string) => ({
  me,
  isGone: () => false,
  canTell: (owner: string) => owner === me,
});

const storeOf = (root: string, me: string): FileSessionStore =>
  new FileSessionStore(join(root, "sessions"), { liveness: container(me) });

/** How long ago the only lock was renewed. */
async function setAge(root: string, seconds: number): Promise<void> {
  const locks = join(root, "sessions", "locks");
  const [name = ""] = await readdir(locks);
  const at = Date.now() / 1_000 - seconds;
  for (const note of await readdir(join(locks, name))) await utimes(join(locks, name, note), at, at);
}

const clerk = (store: FileSessionStore | MemorySessionStore, clock = virtualClock()): SessionAgent => {
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    idempotent: true,
    execute: () => "seen",
  });
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "Seen." : { toolCalls: [{ name: "look", arguments: {} }] },
  );
  return new SessionAgent({ name: "clerk", model, store, tools: [look], secrets: [], clock });
};

/** Begins a run of a session in another container, and hangs in the middle of its tool call. */
const VICTIM = `
import { defineTool } from "@ravi/kernel";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { FileSessionStore, SessionAgent } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
const root = process.argv[1];
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  idempotent: true,
  execute: () => {
    process.stdout.write("looking\\n");
    return new Promise(() => setInterval(() => {}, 1_000));
  },
});
const liveness = { me: "container 1", isGone: () => false, canTell: (owner) => owner === "container 1" };
const store = new FileSessionStore(root + "/sessions", { liveness });
const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }]);
const clerk = new SessionAgent({ name: "clerk", model, store, tools: [look], secrets: [] });
const runtime = new Runtime({ journal: SqliteJournal.open(root), agents: [clerk] });
await runtime.run(clerk, "Look.", { runId: "r", sessionId: "s" }).result;
`;

function victim(root: string): ChildProcess {
  const program = ["--conditions=@ravi/source", "--input-type=module", "--eval", VICTIM, root];
  const cwd = join(import.meta.dirname, "..");
  const child = spawn(process.execPath, program, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

test("O19: a run whose container was killed waits for the lock of its session, and then goes on", async () => {
  const root = await folder();
  const killed = victim(root);
  if (killed.stdout !== null) await once(killed.stdout, "data");
  const ended = once(killed, "exit");
  killed.kill("SIGKILL");
  await ended;
  // Its claim has passed on, since this machine sees that it is gone; the lock of its session has 20 s to go.
  await setAge(root, 10);
  const clock = virtualClock();
  const journal = SqliteJournal.open(root);
  onTestFinished(() => journal.close());
  const runtime = new Runtime({ journal, agents: [clerk(storeOf(root, "container 2"), clock)] });
  const run = runtime.resume("r");
  for await (const { event } of run.events()) {
    if (event.type !== "progress" || event.name !== "sessionLocked") continue;
    expect(event.data).toEqual({ sessionId: "s", owner: "container 1", waitMs: expect.any(Number) });
    const { waitMs } = event.data as { readonly waitMs: number };
    expect(waitMs).toBeGreaterThan(10_000);
    expect(waitMs).toBeLessThanOrEqual(20_000);
    await setAge(root, 31);
    await clock.advance(waitMs + 1_000);
  }
  expect(await run.result).toMatchObject({ status: "completed", output: "Seen." });
  expect(clock.pending).toBe(0);
});

test("O19: a run whose session somebody else uses is not over: it is resumed when that one has closed it", async () => {
  const root = await folder();
  const first = clerk(storeOf(root, "container 1"));
  await new Runtime().run(first, "Look.", { sessionId: "s" }).result;
  const holder = await storeOf(root, "container 1").open("s");
  const clock = virtualClock();
  const journal = new MemoryJournal();
  const agents = [clerk(storeOf(root, "container 2"), clock)];
  const runtime = new Runtime({ journal, agents });
  const run = runtime.run(agents[0] ?? first, "Look again.", { runId: "r", sessionId: "s" });
  const refused = run.result.catch((error: unknown) => error);
  for await (const { event } of run.events())
    // It is renewed meanwhile, as its holder lives.
    if (event.type === "progress" && event.name === "sessionLocked") await clock.advance(31_000);
  expect(await refused).toMatchObject({ code: "JOURNAL_LOCKED", sessionId: "s" });
  expect(await runtime.list()).toMatchObject([{ runId: "r", status: "running" }]);
  await holder.close();
  expect(await runtime.resume("r").result).toMatchObject({ status: "completed", output: "Seen." });
  expect(await runtime.resume("r").result).toMatchObject({ status: "completed", output: "Seen." });
});

test("O19: a session that is open in this process is not waited for", async () => {
  const store = new MemorySessionStore();
  const [clock, journal] = [virtualClock(), new MemoryJournal()];
  const agent = clerk(store, clock);
  const runtime = new Runtime({ journal, agents: [agent] });
  const held = store.open("s");
  await held.append([], { at: 0 });
  const refused = runtime.run(agent, "Look.", { runId: "r", sessionId: "s" });
  await expect(refused.result).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
  await held.close();
  expect(await runtime.resume("r").result).toMatchObject({ status: "completed" });
});

test("O19: without a journal there is nothing to resume, and a run whose session is locked has failed", async () => {
  const store = new MemorySessionStore();
  const held = store.open("s");
  await held.append([], { at: 0 });
  const run = new Runtime().run(clerk(store), "Look.", { sessionId: "s" });
  expect(await run.result).toMatchObject({ status: "failed", error: { code: "JOURNAL_LOCKED" } });
  await held.close();
});

test("O19: a run that waits for a lock can be cancelled, and suspended", async () => {
  const root = await folder();
  await new Runtime().run(clerk(storeOf(root, "container 1")), "Look.", { sessionId: "s" }).result;
  await storeOf(root, "container 1").open("s");
  for (const [how, status] of [
    ["cancel", "cancelled"],
    ["close", "suspended"],
  ] as const) {
    const clock = virtualClock();
    const journal = new MemoryJournal();
    const agent = clerk(storeOf(root, "container 2"), clock);
    const runtime = new Runtime({ journal, agents: [agent] });
    const run = runtime.run(agent, "Look.", { runId: "r", sessionId: "s" });
    for await (const { event } of run.events()) {
      if (event.type !== "progress" || event.name !== "sessionLocked") continue;
      if (how === "cancel") run.cancel("enough");
      else void runtime.close();
    }
    expect((await run.result).status).toBe(status);
    await agent.waitForIdle();
    expect(clock.pending).toBe(0);
  }
});
