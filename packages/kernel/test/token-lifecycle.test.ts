import { describe, expect, test } from "vitest";
import { type AbortSignalLike, CancellationError, CancellationToken } from "@ravi/kernel";
import * as fc from "fast-check";

/** A signal of somebody's own: it keeps its listeners whatever they ask for, and fires when it is told to. */
class LooseSignal {
  aborted = false;
  reason: unknown;
  readonly listeners: (() => void)[] = [];
  removed = 0;

  throwIfAborted(): void {}

  addEventListener(_: "abort", listener: () => void): void {
    this.listeners.push(listener);
  }

  removeEventListener(): void {
    this.removed++;
  }

  get asSignal(): AbortSignalLike {
    return this as object as AbortSignalLike;
  }

  fire(): void {
    for (const listener of this.listeners) listener();
  }
}

describe("a token that is taken apart while it fires", () => {
  test("R9: an outer signal that fires late, or twice, is heard once", () => {
    const outer = new LooseSignal();
    const token = new CancellationToken(outer.asSignal);
    const heard: string[] = [];
    token.onCancel(({ reason }) => heard.push(reason));
    outer.reason = "first";
    outer.fire();
    outer.reason = "second";
    outer.fire();
    expect(heard).toEqual(["first"]);
    expect(token.reason).toBe("first");
    expect(outer.removed).toBe(1);
  });

  test("R9: a token that was disposed of has left its outer signal once, and calls nobody when that fires all the same", () => {
    const outer = new LooseSignal();
    const token = new CancellationToken(outer.asSignal);
    const heard: string[] = [];
    const off = token.onCancel(({ reason }) => heard.push(reason));
    token.dispose();
    token.dispose();
    off();
    outer.fire();
    expect(heard).toEqual([]);
    expect(outer).toMatchObject({ removed: 1 });
    expect(outer.listeners).toHaveLength(1);
  });

  test("R9: a listener that disposes of the token, of its parent or of a sibling changes nothing for the others", () => {
    const parent = new CancellationToken();
    const [first, second, third] = [parent.child(), parent.child(), parent.child()];
    const heard: string[] = [];
    first.onCancel(() => {
      heard.push("first");
      first.dispose();
      third.dispose();
      parent.dispose();
    });
    first.onCancel(() => heard.push("first, again"));
    second.onCancel(({ reason }) => heard.push(`second: ${reason}`));
    third.onCancel(() => heard.push("third"));
    parent.cancel("enough");
    expect(heard).toEqual(["first", "first, again", "second: enough"]);
    expect([first, second, third, parent].map(({ reason }) => reason)).toEqual(Array(4).fill("enough"));
  });

  test("R9: who stops listening may listen again, to a parent and to an outer signal", () => {
    const outer = new AbortController();
    const root = new CancellationToken(outer.signal);
    const child = root.child();
    const heard: string[] = [];
    for (const name of ["a", "b"]) child.onCancel(() => heard.push(name))();
    child.onCancel(() => heard.push("c"));
    outer.abort("over");
    expect(heard).toEqual(["c"]);
    expect([root.reason, child.reason]).toEqual(["over", "over"]);
  });

  test("R9: a child of a token that was disposed of is nobody's, whenever it was made", () => {
    const parent = new CancellationToken();
    const before = parent.child();
    const heard: string[] = [];
    before.onCancel(() => heard.push("before"));
    parent.dispose();
    const after = parent.child();
    after.onCancel(({ reason }) => heard.push(reason));
    parent.cancel("too late");
    expect(heard).toEqual([]);
    expect([before.isCancelled, after.isCancelled]).toEqual([false, false]);
    after.cancel("by itself");
    expect(heard).toEqual(["by itself"]);
  });

  test("R9: a grandchild that listens hears with the error of whoever was cancelled, and its signal aborts with it", () => {
    const root = new CancellationToken();
    const grandchild = root.child().child();
    const { signal } = grandchild;
    const reasons: unknown[] = [];
    grandchild.onCancel((error) => reasons.push(error));
    const error = new CancellationError({ reason: "enough" });
    root.cancel(error);
    expect(reasons).toEqual([error]);
    expect(signal.reason).toBe(error);
    expect(grandchild.isCancelled).toBe(true);
  });
});

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
