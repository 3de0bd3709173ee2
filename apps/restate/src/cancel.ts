import { parseArgs } from "node:util";
import { compose } from "./compose.ts";

// Cancels runs by id, from any machine that can reach the server.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ingress: { type: "string", default: "http://127.0.0.1:8080" },
    admin: { type: "string", default: "http://127.0.0.1:9070" },
  },
});
await using client = compose(values);
for (const runId of positionals) {
  await client.cancel(runId, "somebody has changed their mind");
  console.log(`accepted at ${Date.now()}`);
}
