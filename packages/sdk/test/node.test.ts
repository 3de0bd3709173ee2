import { expect, test } from "vitest";
import { checkNode } from "../src/node/check-node.ts";

test("a Node that is too old is told so, by its version and by the one that is needed", () => {
  expect(() => checkNode({}, { process: { version: "v20.20.2" } })).toThrow(
    /needs Node 22\.18 or newer, but this is v20\.20\.2/,
  );
  checkNode(Promise, globalThis);
});
