// The smallest run: one agent, one answer.
//
// It needs no key: a scripted model stands in for a real one. With OPENAI_API_KEY set, write model: "openai:gpt-5-mini".

import assert from "node:assert/strict";
import { agent, run } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const greeter = agent({
  name: "greeter",
  model: scriptedModel(["Hello, Ada. Nice to meet you."]),
  instructions: "Greet people by their name.",
});

const result = await run(greeter, "I am Ada.");

assert.equal(result.status, "completed");
console.log(result.output);
// If you set no limits, safe defaults apply: a dollar, 100 model calls, ten minutes.
console.log(`limited to $${result.limits.budget.usd} and ${result.limits.budget.turns} model calls`);
console.log(String(result.tree));
