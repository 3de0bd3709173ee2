import { ProviderError } from "@ravi/kernel";
import { defineExtension, MemorySessionStore, type SessionLog, type SessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { session, tool } from "./support.ts";

const SEEDS = process.env["RAVI_LONG"] === undefined ? 60 : 5_000;

/** A small generator of random numbers, the same for each seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A store that takes its time, and now and then fails. */
function slowStore(random: () => number, failures: number): SessionStore {
  const memory = new MemorySessionStore();
  return {
    list: () => memory.list(),
    delete: (id) => memory.delete(id),
    open(id) {
      const log = memory.open(id);
      const append: SessionLog["append"] = async (entries, begin) => {
        await turn();
        if (random() < failures) throw new Error("the disk is full");
        return log.append(entries, begin);
      };
      return Object.assign(Object.create(log) as SessionLog, { append });
    },
  };
}

it("O19: whatever happens, each message to a running turn is stored, given back by abort, or still waits; and only once", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomOf(seed);
    const pause = async (most: number): Promise<void> => {
      for (let n = 0; n < random() * most; n++) await turn();
    };
    const model = scriptedModel(async () => {
      await pause(5);
      const dice = random();
      if (dice < 0.2) throw new ProviderError({ kind: "OVERLOADED", message: "busy" });
      return dice < 0.5 ? { toolCalls: [{ name: "work", arguments: {} }] } : "Done.";
    });
    const agent = session({
      model,
      store: slowStore(random, seed % 3 === 0 ? 0.1 : 0),
      tools: [tool("work", () => pause(4))],
      retry: { maxRetries: 1, baseDelayMs: 0 },
      extensions: [defineExtension({ name: "slow", on: { input: () => pause(2), settled: () => pause(3) } })],
    });
    const accepted: string[] = [];
    const elsewhere: string[] = [];
    const say = (): void => {
      const dice = random();
      if (dice < 0.05) elsewhere.push(...agent.abort().map(({ text }) => text));
      if (dice < 0.05 || dice > 0.25) return;
      const text = `message ${accepted.length}`;
      try {
        if (dice < 0.15) agent.steer(text);
        else agent.followUp(text);
        accepted.push(text);
      } catch {
        // It is too late for this run.
      }
    };
    for (let n = 0; n < 3; n++) {
      const running = agent.invoke("Work.").catch(() => undefined);
      while (!agent.isIdle()) {
        await turn();
        say();
      }
      await running;
    }
    const manager = await agent.open();
    for (const { id } of manager.entries()) {
      const entry = await manager.read(id);
      if (entry.kind === "message") elsewhere.push(String(entry.message.content));
    }
    const left = Reflect.get(Reflect.get(agent, "state"), "queued") as readonly { readonly text: string }[];
    const all = [...elsewhere, ...left.map(({ text }) => text)];
    const times = accepted.map((text) => all.filter((each) => each === text).length);
    expect({ seed, times }).toEqual({ seed, times: accepted.map(() => 1) });
    await agent.shutdown();
  }
});
