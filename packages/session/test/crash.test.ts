import type { ChatMessage } from "@ravi/kernel";
import { FileSessionStore, SessionAgent, type SessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeDisk } from "./fake-disk.ts";
import { tool } from "./support.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;
const RUNS = LONG ? 100_000 : 2_000;

/** What every provider asks of a prompt, written apart from the code that makes it so. */
function problemWith(messages: readonly ChatMessage[]): string | undefined {
  const ids = new Set<string>();
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      const at = due.indexOf(message.toolCallId);
      if (at === -1) return `a result for ${message.toolCallId}, which nobody asked for`;
      due.splice(at, 1);
      continue;
    }
    if (due.length > 0) return `${due.join()} has no result`;
    if (message.role !== "assistant") continue;
    due = (message.toolCalls ?? []).map(({ id }) => id);
    for (const id of due) {
      if (ids.has(id)) return `${id} is used twice`;
      ids.add(id);
    }
  }
  return due.length > 0 ? `${due.join()} has no result at the end` : undefined;
}

type Step =
  | { readonly do: "turn"; readonly calls: number; readonly fails: boolean }
  | { readonly do: "fork"; readonly at: number; readonly copy: boolean }
  | { readonly do: "switch"; readonly to: number }
  | { readonly do: "compact"; readonly keep: number }
  | { readonly do: "crash"; readonly after: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("turn" as const), calls: fc.nat(3), fails: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("fork" as const), at: fc.nat(50), copy: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("switch" as const), to: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("compact" as const), keep: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), after: fc.nat(60) }) },
);

interface World {
  readonly disk: FakeDisk;
  store(generation: number): SessionStore;
}

function world(seed: number, variant: { lies?: boolean; changes?: boolean } = {}): World {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const disk = new FakeDisk({ random, lies: variant.lies });
  return {
    disk,
    store(generation) {
      const me = `process ${generation}`;
      const store = new FileSessionStore("/sessions", {
        files: disk,
        liveness: { me, isGone: (owner) => owner !== me },
      });
      return variant.changes === true ? forgetful(store) : store;
    },
  };
}

/** A store with a bug: after a fork, what came before reads otherwise. */
function forgetful(store: SessionStore): SessionStore {
  return {
    list: () => store.list(),
    delete: (id) => store.delete(id),
    async open(id) {
      const log = await store.open(id);
      let forked = false;
      return {
        id: log.id,
        heads: log.heads,
        get info() {
          return log.info;
        },
        append(entries, begin) {
          forked ||= entries.some(({ kind }) => kind === "branch");
          return log.append(entries, begin);
        },
        async read(head) {
          const entry = await log.read(head);
          return forked && entry.kind === "message"
            ? { ...entry, message: { role: "user", content: "?" } }
            : entry;
        },
        close: () => log.close(),
      };
    },
  };
}

/** Plays a sequence and checks it; what must not be is thrown. */
async function play({ disk, store }: World, steps: readonly Step[]): Promise<void> {
  let calls = 0;
  let fails = false;
  let keep = 0;
  const model = scriptedModel(
    ({ messages }) => {
      const problem = problemWith(messages);
      if (problem !== undefined) throw new Error(`not a prompt: ${problem}`);
      if (calls > 0) {
        const count = calls;
        calls = 0;
        // The same ids in every turn, as some servers have it.
        return { toolCalls: Array.from({ length: count }, () => ({ name: "work", arguments: {} })) };
      }
      return fails ? new TypeError("the model fails") : "answer";
    },
    { record: false },
  );
  const make = (generation: number): SessionAgent =>
    new SessionAgent({
      model,
      store: store(generation),
      sessionId: "s0",
      secrets: [],
      retry: false,
      tools: [tool("work", () => "done")],
      compaction: { compact: (messages) => messages.slice(-keep - 1) },
    });
  let generation = 0;
  let agent = make(generation);
  /** What was acknowledged, by session: it must be there ever after, and as it was. */
  const known = new Map<string, Map<string, string>>();
  const look = async (): Promise<void> => {
    const manager = await agent.open();
    const entries = known.get(manager.sessionId) ?? new Map<string, string>();
    known.set(manager.sessionId, entries);
    const there = new Map<string, string>();
    for (const { id } of manager.entries()) there.set(id, JSON.stringify(await manager.read(id)));
    for (const [id, text] of entries)
      if (there.get(id) !== text)
        throw new Error(`entry ${id} was ${text}, and is ${there.get(id) ?? "gone"}`);
    for (const [id, text] of there) entries.set(id, text);
    const problem = problemWith(await manager.messages());
    if (problem !== undefined) throw new Error(`not a prompt: ${problem}`);
  };
  for (const now of steps) {
    try {
      if (now.do === "turn") {
        ({ calls, fails } = now);
        await agent.invoke("go").catch(onlyOurs);
      } else if (now.do === "fork") {
        const path = (await agent.open()).path();
        const entry = path[now.at % Math.max(1, path.length)];
        if (entry !== undefined) await agent.fork(entry.id, { newSession: now.copy });
      } else if (now.do === "switch") {
        await agent.switchSession(`s${now.to}`);
      } else if (now.do === "compact") {
        keep = now.keep;
        await agent.runCompaction();
      } else {
        disk.dieAfter(now.after);
        calls = 2;
        await agent.invoke("the last words").catch(onlyOurs);
        disk.crash();
        agent = make(++generation);
      }
    } catch (error) {
      onlyOurs(error);
    }
    await look();
  }
  await agent.close();
}

/** What a dying disk and a failing model may do. A broken prompt is neither. */
function onlyOurs(error: unknown): void {
  const text = String(error instanceof Error ? error.message : error);
  if (text.includes("not a prompt") || !/EIO|the model fails|could not be/.test(text)) throw error;
}

it("T7: random turns, forks, switches, compactions and crashes: every prompt is valid, and nothing acknowledged changes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 8 }), (seed, steps) => play(world(seed), steps)),
    { numRuns: RUNS },
  );
}, 3_600_000);

it("T7: the check notices a disk that lies about its syncs", async () => {
  const property = fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 8 }), (seed, steps) =>
    play(world(seed, { lies: true }), steps),
  );
  expect((await fc.check(property, { numRuns: 500, seed: 1 })).failed).toBe(true);
});

it("T7: the check notices a store that changes ancestors", async () => {
  const property = fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 8 }), (seed, steps) =>
    play(world(seed, { changes: true }), steps),
  );
  expect((await fc.check(property, { numRuns: 500, seed: 1 })).failed).toBe(true);
});

it("T7: the check of prompts notices what providers refuse", () => {
  const call = {
    role: "assistant",
    content: "",
    toolCalls: [{ id: "a", name: "x", arguments: "" }],
  } as const;
  const result = { role: "tool", toolCallId: "a", name: "x", content: "" } as const;
  expect(problemWith([call, result])).toBeUndefined();
  for (const bad of [
    [call],
    [result],
    [call, result, call, result],
    [call, { role: "user", content: "" } as const, result],
  ])
    expect(problemWith(bad)).toBeDefined();
});
