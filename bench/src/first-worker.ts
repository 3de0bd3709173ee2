import assert from "node:assert/strict";
import { DONE, plans } from "./fake.ts";
import type { Subject } from "./subject.ts";

// The first run of one subject in a new process, after its import: node first-worker.ts <subject>.

const [name = ""] = process.argv.slice(2);
const { subject } = (await import(`./subjects/${name}.ts`)) as Subject;
const run = subject(plans.answer, { withTool: false });
const began = performance.now();
assert.equal(await run(), DONE);
console.log(JSON.stringify({ ms: performance.now() - began, megabytes: process.memoryUsage.rss() / 1e6 }));
