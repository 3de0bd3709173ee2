import { type JsonObject, RunId } from "@ravi/kernel";
import fc from "fast-check";
import { expect } from "vitest";
import { anyText } from "../any-text.ts";
import { attempt, expectRefused, games } from "../case.ts";
import { claimed, entry, INVALID, type JournalCase, keysOf, lengthOf, R1, signal } from "./stage.ts";

/** Anything that a careless caller may pass as JSON, including NaN, -0, undefined, half surrogate pairs and the key `__proto__`. */
function loose(): fc.Arbitrary<JsonObject> {
  const text = anyText();
  return fc
    .object({
      key: fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toString", "then", "")),
      values: [
        text,
        fc.string().map((start) => `${start}\ud800`),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        fc.constant(undefined),
      ],
      maxDepth: 4,
    })
    .map((value) => value as JsonObject);
}

/** Compared as text, since a matcher may treat `-0` and `0`, or a missing and an undefined field, as equal. */
function roundTrip(value: unknown): string {
  return JSON.stringify(JSON.parse(JSON.stringify(value)));
}

export const plainDataCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "what comes back is what a round trip through JSON gives",
    async run({ journal }) {
      let count = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(loose(), { minLength: 1, maxLength: 4 }), async (bodies) => {
          const run = RunId(`plain-${count++}`);
          const epoch = await claimed(journal, run);
          const entries = bodies.map((body, n) => entry(run, `k#${n}`, { body }));
          await journal.append(run, epoch, entries);
          for (const [n, value] of bodies.entries()) await journal.post(run, signal(`s${n}`, { value }));
          const loaded = await journal.load(run);
          const posted = await journal.items(run, 0);
          const wanted = bodies.map(roundTrip);
          expect(loaded.map(({ body }) => JSON.stringify(body))).toEqual(wanted);
          expect(posted.map(({ value }) => JSON.stringify(value))).toEqual(wanted);
          await journal.delete(run);
        }),
        games(100),
      );
    },
  },
  {
    rule: "R24",
    says: "a body that is changed after it was handed over, or after it was loaded, changes nothing",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const body = { list: [1] };
      const appended = attempt(() => journal.append(R1, epoch, [entry(R1, "a", { body })]));
      const posted = attempt(() => journal.post(R1, signal("s", { value: body })));
      body.list.push(2);
      await Promise.all([appended, posted]);
      const [loaded] = await journal.load(R1);
      const [item] = await journal.items(R1, 0);
      expect([loaded?.body, item?.value]).toEqual([{ list: [1] }, { list: [1] }]);
      Object.assign(loaded?.body ?? {}, { list: [3] });
      expect((await journal.load(R1))[0]?.body).toEqual({ list: [1] });
      // `Reflect.set` does not throw if the journal returns frozen objects.
      Reflect.set(Object(item?.value), "list", [3]);
      Reflect.set(item ?? {}, "id", "t");
      expect((await journal.items(R1, 0))[0]).toEqual({ seq: 1, ...signal("s", { value: { list: [1] } }) });
    },
  },
  {
    rule: "T11",
    says: "a cycle and a bigint are refused, and the next append goes well",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const cycle: Record<string, unknown> = {};
      cycle["self"] = cycle;
      for (const body of [cycle, { big: 1n }]) {
        const bad = entry(R1, "a", { body: body as JsonObject });
        await expectRefused(INVALID, () => journal.append(R1, epoch, [bad]));
        const item = signal("s", { value: body as JsonObject });
        await expectRefused(INVALID, () => journal.post(R1, item));
      }
      await journal.append(R1, epoch, [entry(R1, "a")]);
      await journal.post(R1, signal("s"));
      expect(await keysOf(journal, R1)).toEqual(["a"]);
      expect(await journal.items(R1, 0)).toHaveLength(1);
    },
  },
  {
    rule: "T11",
    says: "a nesting of 100,000 is refused or comes back whole, and the next append goes well",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      let deep: JsonObject = {};
      for (let n = 0; n < 100_000; n++) deep = { deep };
      // Whether `JSON.stringify` can write it depends on the engine and on how much stack is left.
      const wrote = await attempt(() => journal.append(R1, epoch, [entry(R1, "deep", { body: deep })])).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject(INVALID);
          return false;
        },
      );
      await journal.append(R1, epoch, [entry(R1, "a")]);
      expect(await keysOf(journal, R1)).toEqual(wrote ? ["deep", "a"] : ["a"]);
      let depth = 0;
      let inner = (await journal.load(R1))[0]?.body["deep"];
      for (; inner !== undefined; inner = (inner as JsonObject)["deep"]) depth++;
      expect(depth).toBe(wrote ? 100_000 : 0);
    },
  },
  {
    rule: "R24",
    says: "bodies of any size come back whole, around the 256 KB above which they are kept apart",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const limit = 256 * 1024;
      // The largest exceed the one or two megabytes at which many stores have a limit.
      const sizes = [limit - 20, limit - 10, limit - 9, limit, limit + 1, 3 * limit, 5 * limit, 20 * limit];
      const texts = [...sizes.map((size) => "x".repeat(size)), "é".repeat(limit / 2), "\u4e2d".repeat(limit)];
      const bodies = [...texts.map((text) => ({ text })), { text: "x".repeat(3 * limit) }, { text: "small" }];
      await journal.append(
        R1,
        epoch,
        bodies.map((body, n) => entry(R1, `k#${n}`, { body })),
      );
      const values = [3 * limit, 20 * limit];
      for (const size of values) await journal.post(R1, signal(`of ${size}`, { value: "x".repeat(size) }));
      const loaded = await journal.load(R1);
      expect(loaded.map(({ body }) => lengthOf(body["text"]))).toEqual(bodies.map(({ text }) => text.length));
      loaded.forEach(({ body }, n) => expect(body["text"] === bodies[n]?.text).toBe(true));
      expect((await journal.items(R1, 0)).map(({ value }) => lengthOf(value))).toEqual(values);
    },
  },
  {
    rule: "R24",
    says: "a body that looks like a reference is only a body",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const bodies = [{ ref: `sha256-${"0".repeat(64)}` }, { $blob: "sha256-0" }, { "": null }, {}];
      const given = [
        ...bodies,
        { toJSON: () => `sha256-${"0".repeat(64)}` } as never,
        { toJSON: () => undefined } as never,
      ];
      await journal.append(
        R1,
        epoch,
        given.map((body, n) => entry(R1, `k#${n}`, { body })),
      );
      expect(JSON.stringify((await journal.load(R1)).map(({ body }) => body))).toBe(JSON.stringify(given));
    },
  },
];
