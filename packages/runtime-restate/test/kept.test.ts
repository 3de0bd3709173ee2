import type { Context } from "@restatedev/restate-sdk";
import { expect, test } from "vitest";
import { readKept } from "../src/execution/kept/store.ts";

/** The context of an invocation that reads what an earlier one has kept. */
function reading(pages: readonly unknown[]): Context {
  const asked = async ({ parameter: { page } }: { readonly parameter: { readonly page: number | null } }) =>
    page === null ? { input: "a", pages: pages.length } : pages[page];
  const context: Partial<Context> = {};
  return Object.assign(context as Context, { genericCall: asked });
}

test("R24: what an execution has done is read as a whole", async () => {
  const [one, two] = [{ asked: ["call a"] }, { asked: ["call b"] }];
  expect(await readKept(reading([[one], [two]]), "run")).toMatchObject({ operations: [one, two] });
});

test("R24: if the server forgets a part of it meanwhile, nothing is known, rather than a part: the rest would be paid for again", async () => {
  expect(await readKept(reading([[{ asked: ["call a"] }], null]), "run")).toBeUndefined();
});
