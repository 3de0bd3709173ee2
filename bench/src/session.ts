import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LLMClient } from "@ravi/kernel";
import { FileSessionStore, type SessionEntry, type SessionLog, SessionAgent } from "@ravi/session";
import { figure, table } from "./harness/table.ts";

// A session of 100,000 entries: the time and memory to open it, and a check that appending costs the same at its end as at its
// beginning.

const ENTRIES = 100_000;
const SAMPLE = 2_000;
const MB = 1_000_000;

function entry(n: number, bytes: number): SessionEntry {
  const content = `${n} ${"x".repeat(bytes)}`;
  const parent = n === 0 ? null : `e${n - 1}`;
  return {
    kind: "message",
    id: `e${n}`,
    parent,
    at: n,
    message: { role: n % 2 === 0 ? "user" : "assistant", content },
  };
}

async function append(log: SessionLog, from: number, count: number, bytes: number): Promise<number> {
  const start = performance.now();
  for (let n = from; n < from + count; n++) await log.append([entry(n, bytes)], { at: 1 });
  return ((performance.now() - start) * 1_000) / count;
}

/** Measures the heap of an open session, in a process of its own that can collect its garbage. */
const HOLDS = `
import { FileSessionStore } from "@ravi/session";
gc();
const before = process.memoryUsage().heapUsed;
const log = await new FileSessionStore(process.argv[1]).open("s");
gc();
console.log((process.memoryUsage().heapUsed - before) / ${MB});
if (log.heads.length !== ${ENTRIES}) throw new Error("not all entries are there");
await log.close();
`;

function heapOf(folder: string): number {
  const args = ["--expose-gc", ...process.execArgv, "--input-type=module", "--eval", HOLDS, folder];
  return Number(execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8" }));
}

async function measure(bytes: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "ravi-bench-session-"));
  try {
    // Without the sync, which would measure the disk. The next table includes it.
    const store = new FileSessionStore(folder, { sync: false });
    const writing = await store.open("s");
    const first = await append(writing, 0, SAMPLE, bytes);
    await append(writing, SAMPLE, ENTRIES - 2 * SAMPLE, bytes);
    const last = await append(writing, ENTRIES - SAMPLE, SAMPLE, bytes);
    await writing.close();
    const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
    const size = statSync(join(folder, file)).size / MB;

    const start = performance.now();
    const log = await store.open("s");
    const opened = performance.now() - start;
    assert.equal(log.heads.length, ENTRIES);
    await log.close();
    const heap = heapOf(folder);
    return [
      `${bytes} bytes an entry, ${size.toFixed(0)} MB`,
      figure(opened),
      figure(heap),
      figure(first),
      figure(last),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A turn on top of a long session: the model sees what the compaction left, and the other entries stay on disk. */
async function turnOnTop(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "ravi-bench-session-"));
  try {
    const store = new FileSessionStore(folder);
    const log = await store.open("s");
    const entries = Array.from({ length: ENTRIES }, (_, n) => entry(n, 200));
    const message = { role: "user", content: "a summary" } as const;
    const items = [{ message }];
    const compaction: SessionEntry = {
      kind: "compaction",
      id: "c",
      parent: `e${ENTRIES - 1}`,
      at: 1,
      strategy: "x",
      items,
      before: 2,
      after: 1,
    };
    await log.append([...entries, compaction], { at: 1 });
    await log.close();
    const model: LLMClient = {
      id: "fake",
      info: { provider: "fake", model: "fake" },
      generate: async () => ({ message: { role: "assistant", content: "ok" }, finishReason: "stop" }),
    };
    const agent = new SessionAgent({ model, store, sessionId: "s", secrets: [] });
    const start = performance.now();
    await agent.invoke("the first turn");
    const first = performance.now() - start;
    const again = performance.now();
    for (let turn = 0; turn < 20; turn++) await agent.invoke("another");
    const each = (performance.now() - again) / 20;
    await agent.close();
    return ["open and one turn", figure(first), "each further turn, synced", figure(each)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function session(): Promise<void> {
  const rows = [await measure(50), await measure(500)];
  console.log(
    table(
      ["a session of 100,000 entries", "open, ms", "heap, MB", "first appends, µs", "last appends, µs"],
      rows,
    ),
  );
  console.log();
  console.log(table(["behind a compaction", "ms", "", "ms"], [await turnOnTop()]));
}
