// A model that no package knows: a client for a protocol of your own, which an agent uses like any other.
//
// house.ts is the client. What every client needs (aborts, a server that falls silent, errors that say whether to try again, no key in
// any of them) is from `@ravi/kernel/provider`. The test runs `describeModel` on it, the suite that Ravi's own providers pass.
// It needs no key: server.ts stands in for the real server.

import assert from "node:assert/strict";
import { agent, run, tool } from "@ravi/sdk";
import * as z from "zod";
import { house } from "./house.ts";
import { startServer } from "./server.ts";

// If the reader of the output has left (`| head`) or the disk is full, that output is lost; the rest of the work is still done.
process.stdout.on("error", () => (process.exitCode = 1));

const server = await startServer(
  [{ toolCalls: [{ name: "population", arguments: { city: "Bern" } }] }, "Bern has 146000 inhabitants."],
  "key-of-the-house",
);
const population = tool({
  name: "population",
  description: "How many people live in a city.",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => (city === "Bern" ? 146_000 : "unknown"),
});

const model = house("small", { baseURL: server.baseURL, apiKey: "key-of-the-house" });
const geographer = agent({ name: "geographer", model, tools: [population] });
const result = await run(geographer, "How many people live in Bern?", {
  budget: { usd: 0.1 },
  prices: { "house:small": { input: 0.2, output: 0.8 } }, // dollars per million tokens: a limit in dollars needs them
});
await server.close();

assert.equal(result.status, "completed");
console.log(result.output);
console.log(String(result.tree));
