import assert from "node:assert/strict";
import { resolve } from "node:path";
import { scenarios } from "./scenarios.ts";
import type { Subject } from "./subject.ts";

// Measures one scenario of one subject in this process: node --expose-gc worker.ts <subject> <scenario>. A subject is the name of
// a file in `subjects` or the path of an adapter. Prints one JSON object of figures.

const [name = "", scenarioName = ""] = process.argv.slice(2);
const scenario = scenarios[scenarioName];
assert(
  scenario !== undefined,
  `unknown scenario ${scenarioName}; expected one of ${Object.keys(scenarios).join(", ")}`,
);
const file = name.endsWith(".mjs") ? resolve(name) : `./subjects/${name}.ts`;
const subject = (await import(file)) as Subject;
console.log(JSON.stringify(await scenario(subject)));
await subject.close?.();
// A framework may leave timers running; the figures are already printed, so the process ends here.
process.exit(0);
