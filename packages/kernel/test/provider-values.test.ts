import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ChatMessage, isRaviError, type Logger } from "@ravi/kernel";
import {
  argumentObject,
  argumentText,
  callIds,
  checkBaseURL,
  checkClientParts,
  checkHeaders,
  countIn,
  field,
  fieldsOf,
  inputSchema,
  isObject,
  leftOut,
  listOf,
  namesOnly,
  onceEach,
  pairedCalls,
  plainId,
  plainName,
  shortId,
  stringOr,
  textIn,
  tryParse,
  uniqueIds,
  unknownLeftOut,
  wireLimits,
} from "@ravi/kernel/provider";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 300;

describe("values from the wire", () => {
  test("are read, whatever they are", () => {
    for (const value of [undefined, null, 5, "text", true, [1]]) {
      expect([isObject(value), fieldsOf(value), field(value, "a")]).toEqual([false, {}, undefined]);
    }
    expect([isObject({}), fieldsOf({ a: 1 }), field({ a: 1 }, "a")]).toEqual([true, { a: 1 }, 1]);
    expect([listOf([1]), listOf({ length: 1 })]).toEqual([[1], []]);
    expect([textIn("a"), textIn(""), textIn(5)]).toEqual(["a", undefined, undefined]);
    expect([stringOr("", "b"), stringOr(5, "b"), stringOr(null, undefined)]).toEqual(["", "b", undefined]);
    expect([tryParse("[1]"), tryParse("["), tryParse("null")]).toEqual([[1], undefined, null]);
  });

  test("T10: a count is money: what is none says nothing", () => {
    expect([0, 7].map(countIn)).toEqual([0, 7]);
    for (const wrong of [-1, 1.5, Number.NaN, 2 ** 60, "7", null, undefined]) {
      expect(countIn(wrong)).toBeUndefined();
    }
  });
});

describe("T10: the arguments of a call", () => {
  test.each([
    ['{"a":1}', '{"a":1}'],
    [{ a: 1 }, '{"a":1}'],
    [[1], "[1]"],
    // A tool without required arguments must not run with what is none.
    [5, "5"],
    [false, "false"],
    [null, ""],
    [undefined, ""],
  ])("%j as text", (given, text) => {
    expect(argumentText(given)).toBe(text);
  });

  test("that cannot be read are cut, but not within a character", () => {
    const { unreadable_arguments: shown } = argumentObject(`${"x".repeat(9_999)}👩 and more`);
    expect(String(shown).isWellFormed()).toBe(true);
    expect(String(shown)).toHaveLength(10_000);
  });
});

describe("T10: ids", () => {
  const id = fc.oneof(fc.string({ maxLength: 90 }), fc.stringMatching(/^[\w-]{30,90}$/));

  test("T10: fit, stay the same, and stay different", () => {
    fc.assert(
      fc.property(id, id, fc.constantFrom(40, 64), (a, b, longest) => {
        expect(shortId(a, longest).length).toBeLessThanOrEqual(longest);
        expect(plainId(a, longest)).toMatch(/^[\w-]{1,64}$/);
        expect(plainId(a, longest).length).toBeLessThanOrEqual(longest);
        for (const map of [shortId, plainId]) {
          expect(map(a, longest)).toBe(map(a, longest));
          expect(map(a, longest) === map(b, longest)).toBe(a === b);
        }
      }),
      { numRuns: RUNS },
    );
  });

  test("T10: one that fits is not touched", () => {
    expect([shortId("call 1", 40), plainId("call_1", 40)]).toEqual(["call 1", "call_1"]);
  });

  test("T10: a name keeps letters, digits, _ and -, up to 64 of them, and is never empty", () => {
    expect([plainName("a-B_1"), plainName("päd.x y"), plainName("x".repeat(99))]).toEqual([
      "a-B_1",
      "p_d_x_y",
      "x".repeat(64),
    ]);
    expect([plainName(""), plainName("", "output")]).toEqual(["unnamed", "output"]);
  });

  test("T10: are given out once each, short enough, whatever is wished for", () => {
    const wish = fc.constantFrom("a", "a_2", "a_3", "a".repeat(20), `${"a".repeat(12)}_2`, "");
    fc.assert(
      fc.property(fc.array(wish, { maxLength: 40 }), (wishes) => {
        const [ids, again] = [uniqueIds(20), uniqueIds(20)];
        const given = wishes.map((wanted) => ids.give(wanted));
        expect(new Set(given).size).toBe(wishes.length);
        expect(given.every((each) => each.length <= 20)).toBe(true);
        expect(wishes.map((wanted) => again.give(wanted))).toEqual(given);
      }),
      { numRuns: RUNS },
    );
  });

  test("T10: a hundred thousand of one name cost no more than they are", () => {
    const ids = uniqueIds();
    for (let n = 0; n < 100_000; n++) ids.give("a");
    expect(ids.give("a")).toBe("a_100001");
  });

  test("T10: of calls are those of no other call, and a result gets that of the latest call of its id", () => {
    const ids = callIds(20);
    expect(["a", "a", "a_2"].map(ids.begin)).toEqual(["a", "a_2", "a_2_2"]);
    expect(["a", "a_2"].map(ids.latest)).toEqual(["a_2", "a_2_2"]);
    const odd = ["é".repeat(30), "é".repeat(30), "é"];
    const sent = odd.map(ids.begin);
    expect(new Set(sent).size).toBe(3);
    expect(odd.map(ids.latest)).toEqual([sent[1], sent[1], sent[2]]);
    for (const each of [...sent, ids.latest("a result of no call")]) expect(each).toMatch(/^[\w-]{1,20}$/);
  });
});

describe("notices", () => {
  function recorder(warn: Logger["warn"]): Logger {
    const silent = (): void => undefined;
    return { debug: silent, info: silent, warn, error: silent };
  }

  test("are told once each, with the model's name", () => {
    const told: unknown[] = [];
    const notice = onceEach(
      recorder((...said) => told.push(said)),
      { provider: "p", model: "m" },
    );
    for (const what of ["a", "b", "a"]) notice(what);
    expect(told).toEqual([
      ["p/m: a", { provider: "p", model: "m" }],
      ["p/m: b", { provider: "p", model: "m" }],
    ]);
  });

  test("cost nothing where the logger fails, or where there is none", () => {
    const failing = recorder(() => {
      throw new Error("disk full");
    });
    expect(() => onceEach(failing, { provider: "p", model: "m" })("a")).not.toThrow();
    expect(() => onceEach(undefined, { provider: "p", model: "m" })("a")).not.toThrow();
  });

  test("have an end, also where each is another", () => {
    let told = 0;
    const notice = onceEach(
      recorder(() => told++),
      { provider: "p", model: "m" },
    );
    for (let n = 0; n < 5_000; n++) notice(`notice ${n}`);
    expect(told).toBe(1_000);
  });

  test("a part that is left out is named to the model, and logged", () => {
    const logged: string[] = [];
    const notice = (what: string): void => void logged.push(what);
    expect(leftOut({ type: "image", url: "x" }, "no", notice)).toBe("[an image was left out: no]");
    const named = { type: "file", url: "x", mediaType: "a/b", name: "f" } as const;
    expect(leftOut(named, "no", notice, "files")).toContain("the file f was");
    expect(leftOut({ ...named, name: undefined }, "no", notice)).toContain("the file (a/b) was");
    expect(unknownLeftOut({ type: "x" }, notice)).toBe(`[${logged.at(-1)}]`);
    expect(logged.slice(0, 3)).toEqual(["an image is left out: no", "files", "a file (a/b) is left out: no"]);
  });
});

describe("options", () => {
  test("have limits that fit together", () => {
    expect(wireLimits({})).toEqual({
      idleTimeoutMs: 240_000,
      maxResponseBytes: 256 * 1024 * 1024,
      maxPieceBytes: 32 * 1024 * 1024,
    });
    expect(wireLimits({ idleTimeoutMs: 5, maxResponseBytes: 7 })).toEqual({
      idleTimeoutMs: 5,
      maxResponseBytes: 7,
      maxPieceBytes: 7,
    });
    for (const wrong of [{ idleTimeoutMs: 0 }, { maxResponseBytes: 1.5 }]) {
      expect(() => wireLimits(wrong)).toThrow(/whole number of at least 1/);
    }
  });

  test("T13: show no value where one of them is wrong", () => {
    expect(namesOnly({ apikey: "canary" })).toEqual({ apikey: "(not shown)" });
    expect(namesOnly("canary?")).toBe("canary?");
    const urls = ["http://user:canary@host", "ftp://canary"].map((url) => new URL(url));
    for (const url of [...urls, undefined]) {
      const refusal = refusalOf(() => checkBaseURL("baseURL", url));
      expect(isRaviError(refusal, "INVALID_VALUE")).toBe(true);
      expect(String(refusal)).not.toContain("canary");
      // Without quotes, which would say that this is the value.
      expect(String(refusal)).toMatch(/baseURL is \(not shown\); expected a URL /);
    }
    const good = new URL("https://host/v1");
    expect(checkBaseURL("baseURL", good)).toBe(good);
  });

  test("T13: take what they were given to take, and show no key", () => {
    const odd = (value: unknown): never => value as never;
    const wrong: readonly [string, object][] = [
      ["apiKey", { apiKey: "" }],
      ["apiKey", { apiKey: { canary: 1 } }],
      ["apiKey", { apiKey: Promise.resolve("canary") }],
      ["provider", { provider: 5 }],
      ["fetch", { fetch: "canary" }],
      ["headers", { headers: new Map([["authorization", "canary"]]) }],
      ["headers", { headers: "canary" }],
      ["client.clock", { clock: {} }],
      ["client.logger", { logger: { info() {} } }],
    ];
    for (const [at, options] of wrong)
      expect(refusalOf(() => checkClientParts("client", odd(options)))).toMatchObject({ field: at });
    expect(String(refusalOf(() => checkClientParts("client", { apiKey: odd(["canary"]) })))).not.toContain(
      "canary",
    );
    expect(refusalOf(() => checkClientParts("client", { apiKey: null, headers: {} }))).toBeUndefined();
  });

  test("T13: options that were not awaited are refused, and not taken for none", () => {
    const none = Promise.resolve({ baseURL: "http://127.0.0.1" });
    expect(namesOnly(none)).toBe(none);
    expect(namesOnly({ apiKey: "canary" })).toEqual({ apiKey: "(not shown)" });
  });

  test("take headers of text alone", () => {
    expect(refusalOf(() => checkHeaders({ a: 5 }))).toMatchObject({ field: "headers.a" });
    expect(refusalOf(() => checkHeaders({ a: "b" }))).toBeUndefined();
  });

  function refusalOf(check: () => unknown): unknown {
    try {
      check();
      return undefined;
    } catch (error) {
      return error;
    }
  }
});

test("what holds beside the alternatives of a tool's schema is merged with them, and no name is required twice", () => {
  const variant = (kind: string, more: Record<string, object>) => ({
    properties: { kind: { const: kind }, ...more },
    required: ["kind", ...Object.keys(more)],
  });
  const schema = {
    type: "object",
    properties: { kind: { type: "string", description: "what" }, size: { type: "number" } },
    required: ["kind", "size"],
    oneOf: [variant("cat", { lives: { type: "number" } }), variant("dog", { size: { minimum: 1 } })],
  };
  const kind = (value: string): object => ({ const: value, type: "string", description: "what" });
  expect(inputSchema(schema)).toEqual({
    type: "object",
    properties: {
      kind: { anyOf: [kind("cat"), kind("dog")] },
      lives: { type: "number" },
      size: { anyOf: [{ type: "number" }, { minimum: 1, type: "number" }] },
    },
    required: ["kind", "size"],
  });
});

describe("the calls of a conversation and their results", () => {
  const user = (content: string): ChatMessage => ({ role: "user", content });
  const asks = (...ids: string[]): ChatMessage => ({
    role: "assistant",
    content: "",
    toolCalls: ids.map((id) => ({ id, name: "f", arguments: "{}" })),
  });
  const result = (toolCallId: string): ChatMessage => ({
    role: "tool",
    toolCallId,
    name: "f",
    content: "ok",
  });
  const none = (toolCallId: string) => ({
    role: "tool",
    toolCallId,
    name: "f",
    content: expect.stringMatching(/^There is no result/),
    isError: true,
  });

  test.each<[string, ChatMessage[]]>([
    ["several at once", [user("go"), asks("a", "b"), result("b"), result("a"), asks("a"), result("a")]],
    ["calls that nothing follows", [user("go"), asks("a", "b")]],
    ["a result without its call", [user("go"), result("a"), asks("b"), result("b"), result("b")]],
  ])("are left as they are: %s", (_, messages) => {
    expect(pairedCalls(messages)).toEqual(messages);
  });

  test.each<[string, ChatMessage[], unknown[]]>([
    [
      "a call that was not finished",
      [user("go"), asks("a", "b"), result("b"), user("on")],
      [user("go"), asks("a", "b"), result("b"), none("a"), user("on")],
    ],
    [
      "one before the next answer",
      [asks("a"), asks("b"), result("b")],
      [asks("a"), none("a"), asks("b"), result("b")],
    ],
    [
      "one whose neighbour was the last",
      [asks("a", "b"), result("a")],
      [asks("a", "b"), result("a"), none("b")],
    ],
    [
      "what was said meanwhile",
      [asks("a", "b"), user("hurry"), result("a"), user("and?"), result("b"), user("on")],
      [asks("a", "b"), result("a"), result("b"), user("hurry"), user("and?"), user("on")],
    ],
    [
      "an id that is used twice",
      [asks("a", "a"), result("a"), user("on")],
      [asks("a", "a"), result("a"), none("a"), user("on")],
    ],
  ])("are put in order: %s", (_, messages, expected) => {
    expect(pairedCalls(messages)).toEqual(expected);
  });
});

test.each([
  [{ type: "object" }, { type: "object", properties: {} }],
  [{}, { type: "object", properties: {} }],
  [
    { type: "object", additionalProperties: { type: "string" } },
    { type: "object", properties: {}, additionalProperties: { type: "string" } },
  ],
])(
  "a tool's schema says that it has no properties, which OpenAI and LM Studio demand: %j",
  (schema, expected) => {
    expect(inputSchema(schema)).toEqual(expected);
  },
);
