// An answer with a type: the schema goes to the model, its answer is checked, and `structured` has the schema's type. While it is
// written, `partialJson` reads what there is of it.
//
// It needs no key: a scripted model stands in for a real one. Its first answer does not fit the schema, so it is told what is wrong.

import assert from "node:assert/strict";
import { agent, partialJson, start } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const invoice = z.object({
  vendor: z.string(),
  total: z.number().positive(),
  paid: z.boolean(),
});

const reader = agent({
  name: "reader",
  model: scriptedModel([
    '{"vendor":"Acme","total":"4,980 dollars","paid":false}',
    '{"vendor":"Acme","total":4980,"paid":false}',
  ]),
  instructions: "Read the invoice.",
  output: invoice,
});

const handle = start(reader, "Acme. 1,200 sensors: $4,980. Due on Friday.");
let text = "";
for await (const { event } of handle.events()) {
  if (event.type === "step") text = ""; // the model begins another answer
  if (event.type !== "text") continue;
  text += event.delta;
  console.log("so far:", JSON.stringify(partialJson(text))); // not checked against the schema yet
}

const result = await handle.result;
const { vendor, total, paid } = result.unwrap().structured; // string, number, boolean

assert.equal(total * 2, 9960);
console.log(`${vendor} asks for $${total}, ${paid ? "paid" : "not paid yet"}`);
console.log(`${result.tree.root.calls.length} model calls: one answer did not fit the schema`);
