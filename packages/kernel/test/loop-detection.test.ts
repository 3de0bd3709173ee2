import { describe, expect, test } from "vitest";
import { InvalidValueError, type ToolCall } from "@ravi/kernel";
import { LOOP_LIMITS, type LoopDetector, loopDetector, type LoopStep } from "@ravi/kernel/loop";

const call = (name: string, args = "{}"): ToolCall => ({ id: "c", name, arguments: args });
const failed = (made: ToolCall, content = "error: no"): LoopStep => ({ call: made, content, isError: true });
const gave = (made: ToolCall, content: LoopStep["content"] = "ok"): LoopStep => ({
  call: made,
  content,
  isError: false,
});

/** One turn as a loop takes it: what is blocked is not made. */
function turn(detector: LoopDetector, step: LoopStep): string {
  if (detector.before(step.call).action === "block") {
    const refused = { call: step.call, content: "error: blocked", isError: true, blocked: true };
    return detector.after([refused])[0]?.action === "halt" ? "block halt" : "block";
  }
  return detector.after([step])[0]?.action ?? "none";
}
const turns = (detector: LoopDetector, count: number, step: (n: number) => LoopStep): string[] =>
  Array.from({ length: count }, (_, n) => turn(detector, step(n)));

describe("O17: loop detection", () => {
  test("a turn with calls of very many tools that do not exist is read in one go", () => {
    const detector = loopDetector();
    // Not a matter of milliseconds: what is not linear takes minutes for these.
    const steps = Array.from({ length: 300_000 }, (_, n) => failed(call(`tool_${n}`)));
    expect(steps.every(({ call: made }) => detector.before(made).action === "allow")).toBe(true);
    expect(detector.after(steps).every(({ action }) => action === "allow")).toBe(true);
    expect(detector.after(steps).every(({ action }) => action === "warn")).toBe(true);
  });

  test("the same failing call is warned of at 2, blocked after 5, and ends the loop at 8", () => {
    expect(turns(loopDetector(), 8, () => failed(call("read")))).toEqual([
      "allow",
      "warn",
      "warn",
      "warn",
      "warn",
      "block",
      "block",
      "block halt",
    ]);
  });

  test("the same tool that fails with ever other arguments is warned of at 3 and halted at 8", () => {
    expect(turns(loopDetector(), 8, (n) => failed(call("read", `{"n":${n}}`)))).toEqual([
      "allow",
      "allow",
      "warn",
      "warn",
      "warn",
      "warn",
      "warn",
      "halt",
    ]);
  });

  test("a success ends the row of a tool's failures, also one that tells nothing new", () => {
    const detector = loopDetector();
    const ok = (): string => turn(detector, gave(call("read", '{"file":"a"}')));
    const fail = (n: number): string => turn(detector, failed(call("read", `{"n":${n}}`)));
    expect([ok(), fail(1), fail(2), ok(), fail(3), fail(4)]).toEqual([
      "allow",
      "allow",
      "allow",
      "warn",
      "allow",
      "allow",
    ]);
    expect(fail(5), "the third in a row").toBe("warn");
  });

  test("the same call with the same result is warned of at 2 and blocked after 5", () => {
    expect(turns(loopDetector(), 6, () => gave(call("status")))).toEqual([
      "allow",
      "warn",
      "warn",
      "warn",
      "warn",
      "block",
    ]);
  });

  test("who goes on asking for what is blocked is stopped", () => {
    const actions = turns(loopDetector(), 13, () => gave(call("status")));
    expect(actions.slice(5)).toEqual([...Array<string>(7).fill("block"), "block halt"]);
  });

  test("a result that changes is progress", () => {
    expect(new Set(turns(loopDetector(), 50, (n) => gave(call("status"), `${n} %`)))).toEqual(
      new Set(["allow"]),
    );
    const image = (url: string): LoopStep => gave(call("look"), [{ type: "image", url }]);
    expect(turns(loopDetector(), 4, (n) => image(`data:${n}`)).at(-1)).toBe("allow");
    expect(turns(loopDetector(), 4, () => image("data:1")).at(-1)).toBe("warn");
  });

  test("O17: the counts start anew once another call has returned something new", () => {
    const tests = failed(call("bash", "npm test"));
    const status = gave(call("status"), "clean");
    const broken = (n: number): LoopStep => failed(call("search", `{"n":${n}}`));
    for (const again of [() => tests, () => status, broken]) {
      const detector = loopDetector();
      for (let n = 1; n <= 20; n++) {
        expect(turn(detector, again(n))).toBe("allow");
        expect(turn(detector, gave(call("edit", `{"line":${n}}`), `edited line ${n}`))).toBe("allow");
      }
      // Without news it is a loop, as if it had begun now: what the turn before has told is known.
      const counts = turns(detector, 9, (n) => again(100 + n));
      expect(counts).toEqual(turns(loopDetector(), 9, (n) => again(100 + n)));
    }
  });

  test("O17: a call that was blocked may be made again once another has returned something new", () => {
    for (const again of [failed(call("bash", "npm test")), gave(call("status"), "clean")]) {
      const detector = loopDetector();
      expect(turns(detector, 6, () => again).at(-1)).toBe("block");
      expect(turn(detector, gave(call("edit"), "edited"))).toBe("allow");
      expect(turn(detector, again)).toBe("allow");
    }
  });

  test("O17: news that come in the same turn count, whatever the order of the calls", () => {
    for (const order of [1, -1]) {
      const detector = loopDetector();
      for (let n = 1; n <= 20; n++) {
        const steps = [failed(call("bash", "npm test")), gave(call("read", `{"page":${n}}`), `page ${n}`)];
        expect(steps.every(({ call: made }) => detector.before(made).action === "allow")).toBe(true);
        const verdicts = detector.after(order === 1 ? steps : steps.toReversed());
        expect(verdicts.map(({ action }) => action)).toEqual(["allow", "allow"]);
      }
    }
  });

  test("O17: calls that take turns and tell nothing new are a loop", () => {
    const detector = loopDetector();
    const seen = turns(detector, 24, (n) =>
      n % 2 === 0 ? failed(call("edit")) : gave(call("read"), "text"),
    );
    expect(seen).toEqual(expect.arrayContaining(["warn", "block", "block halt"]));
  });

  test("a success starts the count of failures anew", () => {
    const detector = loopDetector();
    const flaky = (n: number): LoopStep =>
      n % 2 === 0 ? failed(call("read")) : gave(call("read"), `page ${n}`);
    expect(new Set(turns(detector, 40, flaky))).toEqual(new Set(["allow"]));
  });

  test("calls of one turn count once: a model learns between turns", () => {
    const detector = loopDetector();
    const many = Array.from({ length: 128 }, (_, n) => failed(call("read", `{"n":${n}}`)));
    expect(new Set(detector.after(many).map(({ action }) => action))).toEqual(new Set(["allow"]));
    const same = Array.from({ length: 128 }, () => gave(call("status")));
    expect(new Set(detector.after(same).map(({ action }) => action))).toEqual(new Set(["allow"]));
    expect(detector.before(call("status")).action).toBe("allow");
    const failing = Array.from({ length: 128 }, () => failed(call("write")));
    expect(new Set(detector.after(failing).map(({ action }) => action))).toEqual(new Set(["allow"]));
    expect(detector.before(call("write")).action).toBe("allow");
  });

  test("one success among the failures of a turn is progress of its tool", () => {
    const detector = loopDetector();
    for (let n = 0; n < 20; n++) {
      const verdicts = detector.after([failed(call("read", `"${n}"`)), gave(call("read", `"ok ${n}"`))]);
      expect(verdicts.map(({ action }) => action)).toEqual(["allow", "allow"]);
    }
  });

  test("so it is if the success comes before the failures", () => {
    const detector = loopDetector({ sameTool: { warn: 1 } });
    for (let n = 0; n < 3; n++) {
      const verdicts = detector.after([gave(call("read", `"ok ${n}"`)), failed(call("read", `"${n}"`))]);
      expect(verdicts.map(({ action }) => action)).toEqual(["allow", "allow"]);
    }
  });

  test("each tool counts for itself, also with the same arguments", () => {
    const detector = loopDetector();
    turns(detector, 7, () => failed(call("read")));
    expect(turns(detector, 2, () => failed(call("write")))).toEqual(["allow", "warn"]);
    turns(detector, 1, () => gave(call("list")));
    turns(detector, 5, () => gave(call("status")));
    expect(turns(detector, 1, () => gave(call("list")))).toEqual(["allow"]);
    expect(turns(detector, 1, () => gave(call("status")))).toEqual(["block"]);
  });

  test("what was blocked is not warned of as well: its result says why", () => {
    const detector = loopDetector();
    turns(detector, 5, () => failed(call("read")));
    const blocked = { call: call("read"), content: "error: blocked", isError: true, blocked: true };
    expect(detector.after([blocked])).toEqual([{ action: "allow" }]);
  });

  test("what it says tells the model what to do", () => {
    const detector = loopDetector();
    turn(detector, failed(call("read")));
    expect(detector.after([failed(call("read"))])).toEqual([
      {
        action: "warn",
        reason: "this same call has failed 2 times; change its arguments or try something else",
      },
    ]);
  });

  test("limits can be set one by one; a misspelt one is refused", () => {
    const detector = loopDetector({ noProgress: { block: 3 } });
    expect(turns(detector, 4, () => gave(call("status")))).toEqual(["allow", "warn", "warn", "block"]);
    expect(() => loopDetector({ sameCall: { warn: 0 } })).toThrow(InvalidValueError);
    const misspelt: object = { sameCal: { warn: 1 } };
    expect(() => loopDetector(misspelt)).toThrow(/loopDetection\.sameCal /);
    for (const rule of ["sameCall", "sameTool", "noProgress"])
      expect(() => loopDetector({ [rule]: { stop: 1 } })).toThrow(`loopDetection.${rule}.stop `);
    expect(LOOP_LIMITS.sameTool).toEqual({ warn: 3, halt: 8 });
  });

  /** Failures bring no news, so they leave the counts of other calls as they are. */
  const patient = (): LoopDetector => loopDetector({ sameTool: { warn: 10_000, halt: 10_000 } });

  test.each([0, 6, 7, 8, 9, 100, 255])(
    "O17: a call is known after %i others, and each of them too",
    (others) => {
      const detector = patient();
      for (let n = 0; n < 5; n++) turn(detector, failed(call("read", "first")));
      for (let n = 0; n < others; n++) turn(detector, failed(call("read", `${n}`)));
      expect(detector.before(call("read", "first")).action).toBe("block");
      const again = Array.from({ length: others }, (_, n) => detector.after([failed(call("read", `${n}`))]));
      expect(again.flat().map(({ action }) => action)).toEqual(again.map(() => "warn"));
      expect(detector.before(call("read", "first")).action).toBe("block");
    },
  );

  test("old calls are forgotten, so that a long run does not keep them all", () => {
    const detector = patient();
    for (let n = 0; n < 5; n++) turn(detector, failed(call("read", "first")));
    expect(detector.before(call("read", "first")).action).toBe("block");
    for (let n = 0; n < 300; n++) turn(detector, failed(call("read", `${n}`)));
    expect(detector.before(call("read", "first")).action).toBe("allow");
  });

  test("O17: of many calls of one tool the oldest are forgotten first, one by one, and the newest are known", () => {
    const detector = patient();
    const make = (n: number): string | undefined =>
      detector.after([failed(call("t", `{"n":${n}}`))])[0]?.action;
    for (let n = 0; n < 600; n++) expect(make(n)).toBe("allow");
    // The last 256 are known, each of them, and the one before is not.
    for (const n of [599, 500, 400, 344]) expect(make(n)).toBe("warn");
    expect(make(343)).toBe("allow");
  });
});
