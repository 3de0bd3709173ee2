import assert from "node:assert/strict";
import { finished, history, parked, parkedOnDisk, tree } from "./growth-cases.ts";

// Measures one case in this process: node --expose-gc growth-worker.ts <case> <size>. Prints one JSON object of figures.

const cases: Readonly<Record<string, (size: number) => Promise<object>>> = {
  tree: async (size) => ({ us: await tree(size) }),
  history: async (size) => ({ us: await history(size) }),
  parked: async (size) => ({ kB: await parked(size) }),
  finished: async (size) => ({ kB: await finished(size) }),
  parkedOnDisk,
};

const [name = "", size = ""] = process.argv.slice(2);
const measure = cases[name];
assert(measure !== undefined, `unknown case ${name}; expected one of ${Object.keys(cases).join(", ")}`);
console.log(JSON.stringify(await measure(Number(size))));
