import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type ChatContext,
  isCancellation,
  type Ledger,
  type Logger,
  type Pipeline,
  type Reservation,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import type { Execution } from "../../src/context/execution.ts";
import { ExecutionInbox } from "../../src/context/inbox.ts";
import { Keys } from "../../src/context/keys.ts";
import { agent, ask, done, FakeLedger, until } from "./helpers.ts";

describe("R24: the keys of tool calls", () => {
  /** As simple as can be: how often each was asked for. */
  function counting(): (turn: number, index: number) => string {
    const taken = new Map<string, number>();
    return (turn, index) => {
      const place = `tool:${turn}:${index}`;
      const n = (taken.get(place) ?? 0) + 1;
      taken.set(place, n);
      return n === 1 ? place : `${place}#${n}`;
    };
  }

  test("R24: a place that hand-offs have left free is taken for the first time, in whatever batch of the turn", () => {
    const batch = fc.array(fc.boolean(), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(fc.array(batch, { maxLength: 4 }), { maxLength: 4 }), (all) => {
        const [keys, expected] = [new Keys(), counting()];
        for (const [turn, batches] of all.entries())
          for (const leaves of batches)
            for (const [index, isTool] of leaves.entries())
              if (isTool) expect(keys.place(turn, index)).toBe(expected(turn, index));
      }),
    );
  });

  test("R24: kinds and names are counted whatever they are called, and however many there are", () => {
    const text = fc.oneof(
      fc.constantFrom("", "a", "a:b", "__proto__", "constructor"),
      fc.string({ maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 80, size: "max" }), (asked) => {
        const keys = new Keys();
        const counts = new Map<string, number>();
        for (const [kind, name] of asked.filter((pair) => pair.join("") !== "")) {
          const what = `${kind}:${name}`;
          counts.set(what, (counts.get(what) ?? 0) + 1);
          expect(keys.next(kind, name)).toBe(`${what}#${counts.get(what)}`);
        }
      }),
    );
  });
});

test("R18: a ledger that cannot take back what came too late does not hide why it was too late, and is heard of", async () => {
  const logged: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (message, fields) => void logged.push(`${message}: ${String(fields?.["error"])}`),
  };
  const granted = Promise.withResolvers<void>();
  const fake = new FakeLedger();
  const ledger = Object.assign(Object.create(fake) as Ledger, {
    async reserve(): Promise<Reservation> {
      await granted.promise;
      return {
        settle: () => ({ warnings: [], exceeded: [] }),
        cancel: () => Promise.reject(new Error("no bank")),
      };
    },
  });
  const seen: unknown[] = [];
  const impatient: Pipeline<ChatContext> = {
    isNoop: false,
    hasAdmits: false,
    admit() {},
    async run(context, core) {
      const patience = new AbortController();
      context.signal = patience.signal;
      const asking = core();
      patience.abort("too slow");
      granted.resolve();
      await asking.catch((error: unknown) => seen.push(isCancellation(error) ? error.reason : error));
      context.result = { message: { role: "assistant", content: "my own" }, finishReason: "stop" };
    },
  };
  const model = scriptedModel(() => "theirs");
  const asks = agent("asks", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content)));
  const runtime = new Runtime({ ledger: () => ledger, logger, pipelines: { chat: impatient } });
  expect(await runtime.run(asks, "").result).toMatchObject({ status: "completed", output: "my own" });
  expect({ seen, logged, calls: model.calls.length }).toEqual({
    seen: ["too slow"],
    logged: ["could not cancel a reservation of asks; its amount stays reserved: no bank"],
    calls: 0,
  });
});

test("R18: what a user's own tracker has set aside comes back also where the run's ledger takes nothing back", async () => {
  const granted = Promise.withResolvers<void>();
  const [tracker, fake] = [new FakeLedger(), new FakeLedger()];
  let isAsked = false;
  const ledger = Object.assign(Object.create(fake) as Ledger, {
    async reserve(): Promise<Reservation> {
      isAsked = true;
      await granted.promise;
      const cancel = (): Promise<void> => Promise.reject(new Error("no bank"));
      return { settle: () => ({ warnings: [], exceeded: [] }), cancel };
    },
  });
  const model = scriptedModel(() => "theirs");
  const asks: Agent = {
    ...agent("asks", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content))),
    defaults: { executionBudget: tracker },
  };
  const handle = new Runtime({ ledger: () => ledger }).run(asks, "");
  await until(() => isAsked);
  handle.cancel("enough");
  granted.resolve();
  expect(await handle.result).toMatchObject({ status: "cancelled", error: { reason: "enough" } });
  expect({ used: tracker.used.tokens, calls: model.calls.length }).toEqual({ used: 0, calls: 0 });
  expect(tracker.reserved, "it was asked").toBe(1);
});

describe("R24: an inbox tells whether there is mail where its engine can", () => {
  const execOn = (engine: object): Execution =>
    ({ engine: { start: { input: "given" }, ...engine } }) as object as Execution;

  test("R24: and has no word for it where it cannot, also with another input: a loop then reads none", () => {
    const inbox = ExecutionInbox.of(execOn({}));
    for (const each of [inbox, inbox.withInput("other")]) expect("hasMail" in each).toBe(false);
    expect([inbox.input, inbox.withInput("other").input]).toEqual(["given", "other"]);
  });

  test("R24: by the key of its next read, and of what was handed back", async () => {
    const asked: string[] = [];
    const hasMail = (key: string): boolean => asked.push(key) > 2;
    const inbox = ExecutionInbox.of(execOn({ hasMail }));
    const other = inbox.withInput("other");
    expect([other.hasMail?.(), other.hasMail?.(), other.hasMail?.()]).toEqual([false, false, true]);
    expect(asked).toEqual(["inbox#1", "inbox#1", "inbox#1"]);
    await other.nack({ id: "1", from: "a", content: "", at: 0 }, "later");
    expect(other.hasMail?.()).toBe(true);
    expect(asked, "what was handed back is there, whatever the engine says").toHaveLength(3);
  });
});
