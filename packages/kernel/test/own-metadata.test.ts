import { expect, test } from "vitest";
import { ownMetadata } from "@ravi/kernel/loop";

test("R24: metadata is read once, also if it is frozen: a getter cannot tell each reader something else", () => {
  let reads = 0;
  const given = Object.freeze({
    desk: "7",
    get at(): string {
      return String(++reads);
    },
  });
  const own = ownMetadata(given);
  expect([own["at"], own["at"], own["desk"]]).toEqual(["1", "1", "7"]);
});

test("metadata that is flat and frozen is its own copy", () => {
  const given = Object.freeze({ desk: "7", vip: true, floor: null });
  expect(ownMetadata(given)).toBe(given);
  expect(ownMetadata({ ...given })).not.toBe(given);
});
