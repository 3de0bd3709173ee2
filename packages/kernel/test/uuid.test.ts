import { expect, test } from "vitest";
import { systemIds } from "@ravi/kernel";

const V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("an id is a UUID of version 4, and no two are the same, also past the end of a pool of random bytes", () => {
  const ids = Array.from({ length: 5_000 }, () => systemIds.uuid());
  for (const id of ids) expect(id).toMatch(V4);
  expect(new Set(ids).size).toBe(ids.length);
});

test("every digit of an id that may vary does", () => {
  const ids = Array.from({ length: 2_000 }, () => systemIds.uuid());
  for (let at = 0; at < 36; at++) {
    const seen = new Set(ids.map((id) => id[at])).size;
    const expected = at === 14 || [8, 13, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16;
    expect([at, seen]).toEqual([at, expected]);
  }
});

test("no digit of an id is another one again", () => {
  const ids = Array.from({ length: 200 }, () => systemIds.uuid());
  const varying = Array.from({ length: 36 }, (_, at) => at).filter((at) => ![8, 13, 14, 18, 23].includes(at));
  const columns = varying.map((at) => ids.map((id) => id[at]).join(""));
  expect(new Set(columns).size).toBe(varying.length);
});
