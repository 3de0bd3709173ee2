import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  CancellationToken,
  type HireLeaf,
  type Leaf,
  type ModelResponse,
  type ToolCall,
} from "@ravi/kernel";
import { type ToolTurnOptions, toolTurn, type TurnContext } from "@ravi/kernel/loop";

// Tokens that are disposed of, cancelled or listened to while they fire, and turns whose hand-offs are read at once or later.

describe("R9: a token and its signal say the same", () => {
  test("R9: who is disposed of by a listener of its parent, before it was told itself, is cancelled, and so is its signal", () => {
    const parent = new CancellationToken();
    const child = parent.child();
    const heard: string[] = [];
    parent.onCancel(() => child.dispose());
    child.onCancel(() => heard.push("child"));
    const { signal } = child;
    parent.cancel("enough");
    expect(child.reason).toBe("enough");
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(child.error);
    expect(heard, "its callbacks were taken off in time").toEqual([]);
  });

  test("R9: those below whoever is disposed of in that moment are told all the same, each once", () => {
    const parent = new CancellationToken();
    const child = parent.child();
    const heard: string[] = [];
    parent.onCancel(() => child.dispose());
    child.onCancel(() => heard.push("child"));
    const [one, two] = [child.child(), child.child().child()];
    one.onCancel(({ reason }) => heard.push(`one: ${reason}`));
    two.onCancel(({ reason }) => heard.push(`two: ${reason}`));
    parent.cancel("enough");
    parent.cancel("again");
    expect(heard).toEqual(["one: enough", "two: enough"]);
    expect([one.signal.aborted, two.signal.aborted]).toEqual([true, true]);
  });

  test("R9: so it is below a signal from outside, whose other listener was called first", () => {
    const outer = new AbortController();
    const token = new CancellationToken(outer.signal);
    outer.signal.addEventListener("abort", () => token.dispose());
    const { signal } = token;
    outer.abort("over");
    expect([token.reason, signal.aborted]).toEqual(["over", true]);
  });

  test("R9: who is disposed of before anything happened is never aborted", () => {
    const parent = new CancellationToken();
    const child = parent.child();
    const { signal } = child;
    child.dispose();
    parent.cancel("too late for it");
    expect([child.isCancelled, signal.aborted]).toEqual([false, false]);
  });

  test("R9: who begins to listen on a child while its parent fires is told at once, and once", () => {
    const parent = new CancellationToken();
    const [early, late] = [parent.child(), parent.child()];
    const heard: string[] = [];
    parent.onCancel(() => {
      for (const [name, token] of Object.entries({ early, late }))
        token.onCancel(({ reason }) => heard.push(`${name}, in the middle: ${reason}`));
      heard.push(`the signal: ${late.child().signal.aborted}`);
    });
    early.onCancel(() => heard.push("early"));
    parent.cancel("enough");
    expect(heard).toEqual([
      "early, in the middle: enough",
      "late, in the middle: enough",
      "the signal: true",
      "early",
    ]);
  });

  /** What is done with which of the tokens, by a listener on which of them. */
  const step = fc.record({
    on: fc.nat(3),
    act: fc.constantFrom("dispose", "cancel", "listen", "leave", "child"),
    what: fc.nat(3),
  });

  test("R9: whatever the listeners do, each is called at most once, and none after it was taken off", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.nat(3), (steps, cancelled) => {
        const root = new CancellationToken();
        const middle = root.child();
        const tokens = [root, middle, middle.child(), root.child()];
        const signals = tokens.map((token) => ({ token, signal: token.signal }));
        const at = (n: number): CancellationToken => tokens[n % tokens.length] ?? root;
        const calls = new Map<number, number>();
        const off = new Set<number>();
        const offs: (() => void)[] = [];
        for (const [n, { on, act, what }] of steps.entries()) {
          const leave = at(on).onCancel(() => {
            expect(off.has(n)).toBe(false);
            calls.set(n, (calls.get(n) ?? 0) + 1);
            if (act === "dispose") at(what).dispose();
            if (act === "cancel") at(what).cancel("again");
            if (act === "listen") at(what).onCancel(() => {});
            if (act === "leave") offs[what]?.();
            if (act === "child") tokens.push(at(what).child());
          });
          offs.push(() => {
            off.add(n);
            leave();
          });
        }
        at(cancelled).cancel("enough");
        expect([...calls.values()].every((count) => count === 1)).toBe(true);
        expect(at(cancelled).reason).toBe("enough");
        for (const { token, signal } of signals) {
          expect(signal.aborted).toBe(token.isCancelled);
          if (signal.aborted) expect(signal.reason).toBe(token.error);
        }
      }),
    );
  });
});

describe("hand-offs whose arguments are read at once or later", () => {
  const helper: Agent = { id: AgentId("helper"), run: async () => Promise.reject(new Error("not run here")) };
  const READ = {
    "at once": (value: unknown) => ({ value }),
    later: async (value: unknown) => ({ value }),
    "by a thenable": (value: unknown) => {
      const name = ["th", "en"].join("");
      const settle = (fulfilled: (result: object) => unknown): void =>
        void Promise.resolve().then(() => fulfilled({ value }));
      return { [name]: settle } as object as Promise<{ value: unknown }>;
    },
  } as const;
  const delegates = Object.entries(READ).map(([name, validate]) => ({
    kind: "delegate" as const,
    name,
    description: "",
    input: {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate,
        jsonSchema: { input: () => ({}), output: () => ({}) },
      },
    },
    hire: (): HireLeaf => ({ kind: "hire", agent: helper, input: name }),
  }));
  const call = (name: string): ToolCall => ({ id: name, name, arguments: "{}" });
  const names = ["later", "at once", "nobody", "by a thenable"];
  const response: ModelResponse = {
    message: { role: "assistant", content: "", toolCalls: names.map(call) },
    finishReason: "toolCalls",
  };
  const hired = (leaf: Leaf): object => ({
    status: "completed",
    result: { status: "completed", output: leaf.kind === "hire" ? leaf.input : "", stopReason: "done" },
  });
  const batches: number[] = [];
  const ctx: TurnContext = {
    batch: (async (leaves: readonly Leaf[]) => {
      batches.push(leaves.length);
      return leaves.map(hired);
    }) as TurnContext["batch"],
  };

  test("R16: they are asked about and told of in the order of the calls, and made in one batch", async () => {
    batches.length = 0;
    const told: string[] = [];
    const options: ToolTurnOptions = {
      before: ({ id }) => void told.push(`before ${id}`),
      onHire: ({ id }) => told.push(`hire ${id}`),
    };
    const { messages, stop } = await toolTurn(ctx, response, delegates, options);
    expect(told).toEqual([
      "before later",
      "hire later",
      "before at once",
      "hire at once",
      "before nobody",
      "before by a thenable",
      "hire by a thenable",
    ]);
    expect(messages.map(({ toolCallId, isError = false }) => [toolCallId, isError])).toEqual(
      names.map((name) => [name, name === "nobody"]),
    );
    expect([batches, stop]).toEqual([[3], undefined]);
  });

  test.each(Object.keys(READ))(
    "R16: whoever is told of a hire and throws fails the turn, and nobody is hired: read %s",
    async (name) => {
      batches.length = 0;
      const onHire = ({ id }: ToolCall): void => {
        if (id === name) throw new Error(`no hire for ${id}`);
      };
      await expect(toolTurn(ctx, response, delegates, { onHire })).rejects.toThrow(`no hire for ${name}`);
      expect(batches).toEqual([]);
    },
  );
});
