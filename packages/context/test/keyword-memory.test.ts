import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { type HistoryProvider, type JsonObject, RunId, type RunScope, SessionId } from "@ravi/kernel";
import { FileHistory, KeywordMemory, MemoryHistory } from "@ravi/context";

const RUNS = process.env["RAVI_LONG"] ? 2_000 : 100;

function scopeOf(userId: string | null, tenantId: string | null = null): RunScope {
  return { userId, tenantId, sessionId: SessionId("s"), runId: RunId("r"), metadata: {} };
}
const ANN = scopeOf("ann");

async function texts(
  memory: KeywordMemory,
  scope: RunScope,
  query: string,
  limit?: number,
): Promise<string[]> {
  return (await memory.recall(scope, query, limit)).map(({ text }) => text);
}

test("J11: of users who are idle no turn is kept, also where one failed; those at once still go one by one", async () => {
  const memory = new KeywordMemory();
  const users = Array.from({ length: 20 }, (_, at) => scopeOf(`user ${at}`));
  for (const user of users) await memory.remember(user, "tea");
  await expect(memory.remember(ANN, "x".repeat(20_000_000))).rejects.toThrow(/too|at most/);
  await Promise.all([
    memory.remember(ANN, "tea", { key: "k" }),
    memory.remember(ANN, "coffee", { key: "k" }),
  ]);
  await new Promise(setImmediate);
  expect(Reflect.get(Reflect.get(memory, "queues"), "tails").size).toBe(0);
  expect(await texts(memory, ANN, "tea coffee")).toEqual(["tea"]);
  for (const user of users) expect(await texts(memory, user, "tea")).toEqual(["tea"]);
});

test("J11: of a thousand users what they remember is at hand, of all others it is read again", async () => {
  const memory = new KeywordMemory();
  const users = Array.from({ length: 1_200 }, (_, at) => scopeOf(`user ${at}`));
  for (const user of users) await memory.remember(user, "tea");
  expect(Reflect.get(memory, "partitions").size).toBe(1_000);
  for (const user of users.slice(0, 3)) {
    await memory.remember(user, "green tea");
    expect(await texts(memory, user, "tea")).toEqual(["green tea", "tea"]);
  }
  // Who only asks takes no room for ever either.
  for (let at = 0; at < 1_200; at++) await memory.recall(scopeOf(`nobody ${at}`), "tea");
  expect(Reflect.get(memory, "partitions").size).toBe(1_000);
});

test.each(["older", "newer"])(
  "J11: who forgets the %s of two items with the same key, which two processes have stored, still knows the other",
  async (which) => {
    const directory = await mkdtemp(join(tmpdir(), "ravi-memory-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const open = async () => new KeywordMemory({ history: await FileHistory.open(directory) });
    const [one, two] = [await open(), await open()];
    // Both have read that there is nothing.
    for (const each of [one, two]) await each.recall(ANN, "tea");
    const older = await one.remember(ANN, "green tea", { key: "drink" });
    const newer = await two.remember(ANN, "black tea", { key: "drink" });
    const [gone, kept] = which === "older" ? [older, newer] : [newer, older];
    const memory = await open();
    const again = () => memory.remember(ANN, "white tea", { key: "drink" });
    expect(await again()).toEqual(newer);
    await memory.forget(ANN, gone.id);
    expect(await again()).toEqual(kept);
    await memory.forget(ANN, kept.id);
    expect(await again()).toMatchObject({ text: "white tea" });
  },
);

test("J11: without a history of the user's own, what was forgotten is not kept for ever", async () => {
  const memory = new KeywordMemory({ maxItems: 10 });
  const records = (): number => {
    const [all] = Reflect.get(Reflect.get(memory, "history"), "histories").values();
    return all.length;
  };
  for (let at = 0; at < 1_000; at++) await memory.remember(ANN, `tea ${at}`);
  expect(records()).toBeLessThan(200);
  for (const { id } of await memory.recall(ANN, "tea", 9)) await memory.forget(ANN, id);
  expect(await texts(memory, ANN, "tea")).toEqual(["tea 990"]);
  // Read again from what is kept.
  Reflect.get(memory, "partitions").clear();
  expect(await texts(memory, ANN, "tea")).toEqual(["tea 990"]);
});

test("J11: a question of 20,000 single characters is answered at once, however much is remembered", async () => {
  const memory = new KeywordMemory();
  const han = (at: number): string => String.fromCharCode(0x4e00 + (at % 20_000));
  for (let item = 0; item < 3; item++) {
    const text = Array.from({ length: 100_000 }, (_, at) => han(at * at * (item + 3) + 7 * at)).join("");
    await memory.remember(ANN, text);
  }
  const question = Array.from({ length: 20_000 }, (_, at) => han(at)).join(" ");
  expect(await memory.recall(ANN, question)).toHaveLength(3);
});

describe("J11: recall by keywords", () => {
  test("the most fitting first; rare words weigh more; what shares no word is not recalled", async () => {
    const memory = new KeywordMemory();
    for (const text of [
      "The report is long",
      "The report names Acme",
      "Reports are due on Monday",
      "Buy milk",
    ])
      await memory.remember(ANN, text);
    expect(await texts(memory, ANN, "Which reports mention ACME?")).toEqual([
      "The report names Acme",
      "Reports are due on Monday",
      "The report is long",
    ]);
    expect(await texts(memory, ANN, "the of and")).toEqual([]);
    expect(await texts(memory, ANN, "")).toEqual([]);
  });

  test("where words stand without spaces between them, a part of a text finds it", async () => {
    const memory = new KeywordMemory();
    const all = ["我喜欢喝绿茶和咖啡", "会議は月曜日の朝です", "ฉันชอบดื่มกาแฟ", "新しいiPhoneを買う"];
    for (const text of all) await memory.remember(ANN, text);
    for (const [at, query] of ["绿茶", "月曜日は?", "กาแฟ", "iphone"].entries())
      expect(await texts(memory, ANN, query)).toEqual([all[at]]);
    expect(await texts(memory, ANN, "红酒")).toEqual([]);
  });

  test("where words stand without spaces between them, one character finds all that have it", async () => {
    const memory = new KeywordMemory();
    for (const text of ["我喜欢喝绿茶和咖啡", "茶", "红酒", "tea 茶道 at noon"])
      await memory.remember(ANN, text);
    expect(await texts(memory, ANN, "茶")).toEqual(["tea 茶道 at noon", "茶", "我喜欢喝绿茶和咖啡"]);
    expect(await texts(memory, ANN, "水")).toEqual([]);
  });

  test("accents, case and plurals do not matter, and any script is read", async () => {
    const memory = new KeywordMemory();
    await memory.remember(ANN, "Café at noon");
    await memory.remember(ANN, "Погода в Осло");
    expect(await texts(memory, ANN, "CAFES")).toEqual(["Café at noon"]);
    expect(await texts(memory, ANN, "погода")).toEqual(["Погода в Осло"]);
  });

  test("a limit, and the newest among equals", async () => {
    const memory = new KeywordMemory();
    for (const n of [1, 2, 3]) await memory.remember(ANN, `lesson ${n}`);
    expect(await texts(memory, ANN, "lesson", 2)).toEqual(["lesson 3", "lesson 2"]);
    expect(await texts(memory, ANN, "lesson", 0)).toEqual([]);
  });

  test("what comes again under the same key is remembered once", async () => {
    const memory = new KeywordMemory();
    const first = await memory.remember(ANN, "lesson", { key: "run:1" });
    expect(await memory.remember(ANN, "lesson", { key: "run:1" })).toEqual(first);
    await memory.remember(ANN, "lesson", { key: "run:2" });
    expect(await texts(memory, ANN, "lesson")).toHaveLength(2);
  });

  test("the oldest is forgotten when there is no more room", async () => {
    const memory = new KeywordMemory({ maxItems: 2 });
    for (const n of [1, 2, 3]) await memory.remember(ANN, `lesson ${n}`);
    expect(await texts(memory, ANN, "lesson")).toEqual(["lesson 3", "lesson 2"]);
  });

  test("whoever fills it outside of a run names only the tenant and the user", async () => {
    const memory = new KeywordMemory();
    await memory.remember({ tenantId: null, userId: "ann" }, "Ann drinks tea");
    expect(await texts(memory, ANN, "tea")).toEqual(["Ann drinks tea"]);
    expect(await memory.recall({ tenantId: null, userId: "bob" }, "tea")).toEqual([]);
  });

  test("nothing to remember, or a limit that is none, rejects", async () => {
    const memory = new KeywordMemory();
    await expect(memory.remember(ANN, "  ")).rejects.toThrow("a non-empty string to remember");
    await expect(memory.recall(ANN, "x", -1)).rejects.toThrow("limit");
    expect(() => new KeywordMemory({ maxItems: 0 })).toThrow("maxItems");
  });
});

describe("J5: a user is a hard partition, and nobody is one too", () => {
  test("whatever is remembered, recalled and forgotten, nothing crosses over", async () => {
    const users = fc.constantFrom<[string | null, string | null]>(
      ["ann", null],
      ["ann", "acme"],
      ["bob", null],
      [null, null],
      ["null", null],
      [null, "acme"],
      ['a","b', null],
      ["", null],
    );
    const steps = fc.array(
      fc.record({ user: users, what: fc.constantFrom("remember", "forget", "recall") }),
      { maxLength: 40, size: "max" },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const memory = new KeywordMemory();
        const expected = new Map<string, string[]>();
        const ids: string[] = [];
        for (const [at, { user, what }] of list.entries()) {
          const name = JSON.stringify(user);
          const [userId, tenantId] = user;
          const own = expected.get(name) ?? [];
          if (what === "remember") {
            const { id } = await memory.remember(scopeOf(userId, tenantId), `word of ${name} ${at}`);
            ids.push(id);
            expected.set(name, [id, ...own]);
          } else if (what === "forget" && ids.length > 0) {
            const id = ids[at % ids.length] ?? "";
            await memory.forget(scopeOf(userId, tenantId), id);
            expected.set(
              name,
              own.filter((kept) => kept !== id),
            );
          }
          const found = await memory.recall(scopeOf(userId, tenantId), "word", 100);
          expect(found.map(({ id }) => id)).toEqual(expected.get(name) ?? []);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

describe("J5: on the disk too", () => {
  test("ids that look alike, or are made to look like somebody else's, are different users", async () => {
    const hostile = [
      "__proto__",
      "constructor",
      "",
      "..",
      "../ann",
      "ann",
      "Ann",
      "ANN",
      "ann ",
      "ann\u0000",
      "ann\n",
      "ａｎｎ",
      "аnn",
      "é",
      "e\u0301",
      "%61nn",
      "\ud800",
      "\ud801",
      "ann/memory",
      "x".repeat(400),
      `${"x".repeat(399)}y`,
    ];
    const directory = await mkdtemp(join(tmpdir(), "ravi-memory-"));
    try {
      const scopes = hostile.flatMap((id) => [scopeOf(id), scopeOf(null, id), scopeOf("ann", id)]);
      const memory = new KeywordMemory({ history: await FileHistory.open(directory) });
      for (const [at, scope] of scopes.entries()) await memory.remember(scope, `secret ${at}`);
      const after = new KeywordMemory({ history: await FileHistory.open(directory) });
      for (const [at, scope] of scopes.entries())
        expect(await texts(after, scope, "secret")).toEqual([`secret ${at}`]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe("J11: kept in a history", () => {
  test("on the disk it outlives the process, what was forgotten stays forgotten", async () => {
    const directory = await mkdtemp(join(tmpdir(), "ravi-memory-"));
    try {
      const before = new KeywordMemory({ history: await FileHistory.open(directory) });
      const kept = await before.remember(ANN, "Acme pays late", { key: "k", tags: ["money"] });
      const gone = await before.remember(ANN, "Acme is gone");
      await before.forget(ANN, gone.id);
      const after = new KeywordMemory({ history: await FileHistory.open(directory) });
      expect(await after.recall(ANN, "acme")).toEqual([kept]);
      expect(await after.remember(ANN, "again", { key: "k" })).toEqual(kept);
      expect(await after.recall(scopeOf("bob"), "acme")).toEqual([]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  const deep = JSON.parse(`${'{"a":'.repeat(70)}1${"}".repeat(70)}`) as JsonObject;
  const hostile = JSON.parse('{"__proto__":1}') as JsonObject;
  const cyclic: Record<string, JsonObject> = {};
  cyclic["self"] = cyclic;
  test.each<[what: string, text: string, metadata: JsonObject | undefined, why: string]>([
    ["too long", "word ".repeat(220_000), undefined, "1000000 characters"],
    ["too long once it is written", '"'.repeat(600_000), undefined, "1000000 characters"],
    ["too deep", "deep", deep, "at most 64 levels"],
    ["with a key that reaches a prototype", "key", hostile, "__proto__"],
    ["a part of itself", "cycle", cyclic, "metadata"],
  ])("what is %s cannot be read again: it is refused, and all else stays", async (_, text, metadata, why) => {
    const directory = await mkdtemp(join(tmpdir(), "ravi-memory-"));
    try {
      const before = new KeywordMemory({ history: await FileHistory.open(directory) });
      const kept = await before.remember(ANN, "the cat likes fish");
      const refused = await before.remember(ANN, text, metadata).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "INVALID_VALUE" });
      expect(String(refused)).toContain(why);
      const after = new KeywordMemory({ history: await FileHistory.open(directory) });
      expect(await after.recall(ANN, "cat")).toEqual([kept]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test("with a smaller maximum than it was filled with, so many of the oldest are forgotten that it is kept", async () => {
    const history = new MemoryHistory();
    const first = new KeywordMemory({ history });
    for (let n = 1; n <= 5; n++) await first.remember(ANN, `tea ${n}`);
    const second = new KeywordMemory({ history, maxItems: 2 });
    await second.remember(ANN, "tea 6");
    for (const memory of [second, new KeywordMemory({ history })])
      expect(await texts(memory, ANN, "tea")).toEqual(["tea 6", "tea 5"]);
  });

  test("many at once are all kept, in the order asked", async () => {
    const memory = new KeywordMemory();
    await Promise.all(Array.from({ length: 20 }, (_, n) => memory.remember(ANN, `note ${n}`)));
    expect(await texts(memory, ANN, "note", 2)).toEqual(["note 19", "note 18"]);
  });

  test("what could not be read once is read again when it is asked for", async () => {
    const kept = new MemoryHistory();
    await new KeywordMemory({ history: kept }).remember(ANN, "tea");
    let fails = true;
    const history: HistoryProvider = {
      load(key) {
        if (fails) throw new Error("the disk does not answer");
        return kept.load(key);
      },
      append: (key, messages) => kept.append(key, messages),
      clear: (key) => kept.clear(key),
    };
    const memory = new KeywordMemory({ history });
    await expect(memory.recall(ANN, "tea")).rejects.toThrow("the disk does not answer");
    fails = false;
    expect(await texts(memory, ANN, "tea")).toEqual(["tea"]);
  });

  test("what could not be written is not remembered, and a store that fails once may work later", async () => {
    let fails = true;
    const history: HistoryProvider = {
      load: () => ({ messages: [], head: 0 }),
      append: () => {
        if (fails) throw new Error("disk full");
      },
      clear: () => {},
    };
    const memory = new KeywordMemory({ history });
    await expect(memory.remember(ANN, "lost")).rejects.toThrow("disk full");
    fails = false;
    await memory.remember(ANN, "kept");
    expect(await texts(memory, ANN, "lost kept")).toEqual(["kept"]);
  });
});
