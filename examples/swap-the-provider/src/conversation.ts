// node src/conversation.ts: one conversation, in which another provider continues after each question.
import assert from "node:assert/strict";
import { MemoryHistory } from "@ravi/context";
import { HistoryRetention } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { guide } from "./guide.ts";
import { modelOf, type ProviderName } from "./models.ts";
import { startServers } from "./servers.ts";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const TURNS: readonly (readonly [ProviderName, string])[] = [
  ["openai", "What do I pack for Oslo and Lisbon?"],
  ["anthropic", "And for Cairo?"],
  ["ai-sdk", "Once more for Oslo, please."],
  ["anthropic", "And Lisbon?"],
  ["openai", "Finally Cairo and Oslo."],
];

const place = await startServers();
const history = new MemoryHistory();
const runtime = new Runtime({ history });

for (const [provider, question] of TURNS) {
  const agent = guide(modelOf(provider, place));
  const run = runtime.run(agent, question, { sessionId: "trip", retention: HistoryRetention.PERMANENT });
  const { status, output } = await run.result;
  assert.equal(status, "completed");
  console.log(`${provider}: ${output}`);
}
await place.close();
