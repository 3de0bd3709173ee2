// The tools of an MCP server as tools of an agent. Arguments are checked, calls are budgeted, recorded and reported as those of
// any other tool, and an error of the server is told to the model. A tool that the server has changed is not called.
//
// The server (server.ts) is a real one, in a process of its own. It needs no key: a scripted model stands in for a real one.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { agent, run } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import { openMcp } from "@ravi/tools-mcp";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const where = {
  command: process.execPath,
  args: [...process.execArgv, fileURLToPath(new URL("./server.ts", import.meta.url))],
};

// A person looks at this, and keeps it in a file. Here it is only remembered.
const first = await openMcp(where);
const approved = first.manifest;
await first.close();

const server = await openMcp(where, { approved });
try {
  console.log(`the server has ${server.tools.map(({ name }) => name).join(", ")}`);
  assert.deepEqual(server.changes, []);

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
    { toolCalls: [{ name: "offers_update", arguments: {} }] },
    { toolCalls: [lookUp({ vendor: "acme" })] },
    "Acme asks $4980. Cascade has made no offer.",
  ]);
  const buyer = agent({ name: "buyer", model, tools: server.tools });
  const result = await run(buyer, "What do Acme and Cascade ask?", { budget: { toolCalls: 10 } });

  assert.equal(result.status, "completed");
  const told = model.calls.at(-1)?.request.messages.filter(({ role }) => role === "tool") ?? [];
  for (const { content } of told) console.log(`the model was told: ${JSON.stringify(content)}`);
  console.log(result.output);
  assert.equal(told.length, 7);
  assert.deepEqual(server.changes, [{ tool: "offers.look_up", changed: ["description"] }]);
} finally {
  await server.close();
}
