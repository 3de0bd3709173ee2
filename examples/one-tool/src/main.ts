// An agent with a tool: the model asks for it, its arguments are checked, and its result goes back to the model.
//
// It needs no key: a scripted model stands in for a real one, and answers with what the tool really returned.

import assert from "node:assert/strict";
import { agent, run, textOf, tool } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const population = tool({
  name: "population",
  description: "How many people live in a city.",
  input: z.object({ city: z.enum(["Bern", "Basel"]) }),
  execute: ({ city }) => ({ Bern: 146_000, Basel: 178_000 })[city], // `city` is "Bern" | "Basel" here
});

const model = scriptedModel(({ messages }) => {
  const results = messages.filter(({ role }) => role === "tool").map(textOf);
  // A model may ask for something that does not exist. The schema refuses it, and the model gets the error.
  if (results.length === 0) return { toolCalls: [{ name: "population", arguments: { city: "Atlantis" } }] };
  if (results.length === 1) return { toolCalls: [{ name: "population", arguments: { city: "Bern" } }] };
  return `Bern has ${results[1]} inhabitants.`;
});
const geographer = agent({ name: "geographer", model, tools: [population] });

const result = await run(geographer, "How many people live in Bern?");

assert.equal(result.output, "Bern has 146000 inhabitants.");
console.log(result.output);
for (const { kind, name, status } of result.tree.root.calls) console.log(kind, name, status);
