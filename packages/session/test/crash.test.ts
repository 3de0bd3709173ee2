import type { LLMClient } from "@ravi/kernel";
import { FileSessionStore, SessionAgent, type SessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeDisk } from "./fake-disk.ts";
import { problemWith } from "./prompt-check.ts";
import { session, tool } from "./support.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;
const RUNS = LONG ? 100_000 : 2_000;

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
  // By hand, and not a scripted model: two thousand sequences are played, and its bookkeeping would be much of the work.
  const model: LLMClient = {
    id: "test/plain",
    info: { provider: "test", model: "plain" },
    async generate({ messages }) {
      const problem = problemWith(messages);
      if (problem !== undefined) throw new Error(`not a prompt: ${problem}`);
      if (calls === 0 && fails) throw new TypeError("the model fails");
      // The same ids in every turn, as some servers have it.
      const toolCalls = Array.from({ length: calls }, (_, n) => ({
        id: `call_${n}`,
        name: "work",
        arguments: "{}",
      }));
      calls = 0;
      return toolCalls.length > 0
        ? { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls" }
        : { message: { role: "assistant", content: "answer" }, finishReason: "stop" };
    },
  };
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
  /** What a turn has added; or all of it again, where something could have changed what was there. */
  const look = async (isThorough: boolean): Promise<void> => {
    const manager = await agent.open();
    const entries = known.get(manager.sessionId) ?? new Map<string, string>();
    known.set(manager.sessionId, entries);
    const ids = new Set(manager.entries().map(({ id }) => id));
    for (const id of entries.keys()) if (!ids.has(id)) throw new Error(`entry ${id} is gone`);
    for (const id of ids) {
      const before = entries.get(id);
      if (before !== undefined && !isThorough) continue;
      const now = JSON.stringify(await manager.read(id));
      if (before !== undefined && before !== now) throw new Error(`entry ${id} was ${before}, and is ${now}`);
      entries.set(id, now);
    }
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
    await look(now.do !== "turn" && now.do !== "compact");
  }
  await look(true);
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

it("T7: a session that was deleted does not come back after a power failure", async () => {
  const disk = new FakeDisk({ random: () => 0.9 });
  const store = new FileSessionStore("/sessions", { files: disk });
  const agent = session({ model: scriptedModel(["ok"]), store, sessionId: "s" });
  await agent.invoke("x");
  await agent.close();
  expect(await store.list()).toHaveLength(1);
  await store.delete("s");
  disk.crash();
  expect(await store.list()).toEqual([]);
});
