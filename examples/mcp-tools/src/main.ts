// The tools of an MCP server as tools of an agent. Arguments are checked, calls are budgeted, recorded and reported as those of
// any other tool, and an error of the server is told to the model.
//
// The server (server.ts) is a real one, in a process of its own. It needs no key: a scripted model stands in for a real one.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { agent, run } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import { mcpTools } from "./mcp-tools.ts";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const client = new Client({ name: "example", version: "1.0.0" });
const server = fileURLToPath(new URL("./server.ts", import.meta.url));
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [...process.execArgv, server] }),
);
try {
  const tools = await mcpTools(client);
  console.log(`the server has ${tools.map(({ name }) => name).join(", ")}`);

  const lookUp = (args: { readonly vendor: string | number }) => ({
    name: "offers_look_up",
    arguments: args,
  });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: "offers_list", arguments: {} },
        { name: "offers_photo", arguments: {} },
      ],
    },
    { toolCalls: [lookUp({ vendor: "acme" }), lookUp({ vendor: "cascade" }), lookUp({ vendor: 7 })] },
    "Acme asks $4980. Cascade has made no offer.",
  ]);
  const buyer = agent({ name: "buyer", model, tools });
  const result = await run(buyer, "What do Acme and Cascade ask?", { budget: { toolCalls: 10 } });

  assert.equal(result.status, "completed");
  const told = model.calls.at(-1)?.request.messages.filter(({ role }) => role === "tool") ?? [];
  for (const { content } of told) console.log(`the model was told: ${JSON.stringify(content)}`);
  console.log(result.output);
  assert.equal(told.length, 5);
} finally {
  await client.close();
}
