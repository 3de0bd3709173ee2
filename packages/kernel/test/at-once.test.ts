import { expect, test } from "vitest";
import type { RunContext } from "@ravi/kernel";
import { atOnceOf, directOf, makeAtOnce, makeDirect } from "../src/loop/at-once.ts";

type Fast = Pick<RunContext, "batch" | "llm">;

const unused = (): never => {
  throw new TypeError("nobody calls this");
};

/** A spy of a user: another function, with all the fields of the one that it stands for. */
function spyOn<F extends object>(method: F): F {
  return Object.defineProperties((): never => unused(), Object.getOwnPropertyDescriptors(method)) as F;
}

test("a method that somebody put in the place of a context's own is called, also if it has all fields of that one", () => {
  const own: Fast = { batch: () => unused(), llm: () => unused() };
  const direct = { ask: unused, answered: unused, failed: unused };
  makeAtOnce(own, unused);
  makeDirect(own, direct);
  expect([atOnceOf(own), directOf(own)]).toEqual([unused, direct]);
  const spied: Fast = { batch: spyOn(own.batch), llm: spyOn(own.llm) };
  expect([atOnceOf(spied), directOf(spied)]).toEqual([undefined, undefined]);
});
