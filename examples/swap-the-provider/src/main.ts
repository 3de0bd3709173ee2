// node src/main.ts [openai | anthropic | ai-sdk]
import assert from "node:assert/strict";
import { Runtime } from "@ravi/runtime";
import { guide } from "./guide.ts";
import { modelOf, type ProviderName } from "./models.ts";
import { startServers } from "./servers.ts";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const provider = (process.argv[2] ?? "openai") as ProviderName;

const place = await startServers();
const agent = guide(modelOf(provider, place));

const result = await new Runtime().run(agent, "What do I pack for Oslo and Lisbon?").result;
assert.equal(result.status, "completed");
console.log(result.output);
await place.close();
