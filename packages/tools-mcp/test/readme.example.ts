import assert from "node:assert/strict";
import { bareContext } from "@ravi/kernel/loop";
import { openMcp } from "@ravi/tools-mcp";

// A server in one line of JavaScript, so that the example needs nothing else. Yours is in any language:
// { command: "npx", args: ["-y", "some-mcp-server"] }, or { url: "https://example.com/mcp", token: () => process.env["TOKEN"] }.
const SERVER = `
  const tool = (name, readOnlyHint) => ({ name, description: name, inputSchema: { type: "object",
    properties: { vendor: { type: "string" } }, required: ["vendor"] }, annotations: { readOnlyHint } });
  const answers = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "offers", version: "1" } }),
    "tools/list": () => ({ tools: [tool("offers.look_up", true), tool("offers.accept", false)] }),
    "tools/call": ({ name, arguments: { vendor } }) => ({ content: [{ type: "text", text: vendor + " asks $4980" }] }),
  };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method](params) }));
  });`;

const where = { command: process.execPath, args: ["--eval", SERVER] };
const server = await openMcp(where, {
  needsApproval: ({ annotations }) => annotations?.readOnlyHint !== true,
});
try {
  // Give them to an agent: agent({ name: "buyer", model, tools: server.tools }).
  const [accept, lookUp] = server.tools; // sorted by name
  assert.ok(lookUp !== undefined && accept !== undefined);
  assert.deepEqual([lookUp.name, lookUp.idempotent, lookUp.needsApproval], ["offers_look_up", true, false]);
  assert.deepEqual([accept.name, accept.idempotent, accept.needsApproval], ["offers_accept", false, true]);

  // As an agent calls it. Wrong arguments are an error for the model, and are not sent.
  const call = (vendor: unknown) =>
    bareContext().tool({ id: "1", name: lookUp.name, arguments: JSON.stringify({ vendor }) }, lookUp);
  assert.equal((await call("Acme")).content, "Acme asks $4980");
  const refusal = "error: invalid arguments for offers_look_up: vendor: is a number; expected a string";
  assert.equal((await call(7)).content, refusal);
} finally {
  await server.close(); // or: await using server = await openMcp(…)
}

// Keep server.manifest in a file that people review. From then on only what is in it is used: a tool that has changed is refused.
const approved = structuredClone(server.manifest);
const same = await openMcp(where, { approved });
assert.deepEqual(same.changes, []);
await same.close();
