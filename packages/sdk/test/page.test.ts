import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { agent, resume, runs, start, tool } from "@ravi/sdk";

const PROGRAM = join(import.meta.dirname, "../src/ravi.ts");

/** `ravi page` as a program of its own, from its sources. */
async function page(journal: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [
    "--conditions=@ravi/source",
    PROGRAM,
    "page",
    "--journal",
    journal,
    ...args,
  ]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  const [address = "", key = ""] = url.split("#key=");
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (path: string, body?: unknown): Promise<{ status: number; body: unknown }> => {
    const sent = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
    const response = await fetch(new URL(path, address), sent);
    return { status: response.status, body: await response.json() };
  };
  return { child, ended, address, ask };
}

async function folder(): Promise<string> {
  const journal = await mkdtemp(join(tmpdir(), "ravi-page-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
  return journal;
}

function clerk() {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: z.object({ usd: z.number() }),
    needsApproval: true,
    execute: () => "paid",
  });
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? "It is paid."
      : { toolCalls: [{ name: "pay", arguments: { usd: 12 } }] },
  );
  return agent({ name: "clerk", model, tools: [pay] });
}

/** A run that asks whether it may pay, and is suspended. */
async function asked(journal: string): Promise<void> {
  const handle = start(clerk(), "Pay the bill", { journal, runId: "bill" });
  for await (const { event } of handle.events())
    if (event.type === "progress" && event.name === "approvalRequested") break;
  await handle.suspend();
  expect(await handle.result).toMatchObject({ status: "suspended" });
}

test("ravi page shows the runs of a journal and answers them, and Ctrl-C closes it", async () => {
  const journal = await folder();
  await asked(journal);
  const { child, ended, address, ask } = await page(journal);
  expect(await (await fetch(address)).text()).toContain("<title>Runs</title>");
  const { body } = await ask("/api/runs?run=bill");
  const [wait] = (await runs({ journal }))[0]?.waitingFor ?? [];
  expect(body).toMatchObject({
    selected: { runId: "bill", waitingFor: [{ question: { arguments: '{"usd":12}' } }] },
  });
  const answer = { ...wait, value: true };
  expect(await ask("/api/runs/bill/answers", answer)).toEqual({ status: 200, body: {} });
  expect(await resume("bill", { agents: clerk(), journal })).toMatchObject({ output: "It is paid." });
  expect((await ask("/api/runs/bill")).body).toMatchObject({ report: { status: "completed" } });
  child.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
});

test("with --read-only nobody can answer, and --port says where", async () => {
  const journal = await folder();
  await asked(journal);
  const first = await page(journal, "--read-only");
  expect(await first.ask("/api/runs/bill/cancel", { reason: "no" })).toMatchObject({ status: 403 });
  first.child.kill("SIGTERM");
  expect(await first.ended).toEqual([0, null]);
  const { port } = new URL(first.address);
  const second = await page(journal, "--port", port);
  expect(second.address).toBe(first.address);
  const third = spawn(process.execPath, [
    "--conditions=@ravi/source",
    PROGRAM,
    "page",
    "--journal",
    journal,
    "--port",
    port,
  ]);
  let stderr = "";
  third.stderr.on("data", (text) => (stderr += String(text)));
  expect(await once(third, "close")).toEqual([1, null]);
  expect(stderr).toMatch(new RegExp(`^ravi: port is ${port}; expected a port that is free`));
});
