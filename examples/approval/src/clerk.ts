// Pays an invoice if somebody approves it. Started by main.ts with the directory of the journal.

import { agent, HookEvent, HookManager, run, tool } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

const pay = tool({
  name: "pay",
  description: "Pays an invoice.",
  input: z.object({ vendor: z.string(), usd: z.number() }),
  needsApproval: true,
  execute({ vendor, usd }) {
    console.log(`paid ${usd} to ${vendor}`);
    return "paid";
  },
});

const model = scriptedModel([
  { toolCalls: [{ name: "pay", arguments: { vendor: "cascade", usd: 4980 } }] },
  "Cascade is paid.",
]);

const hooks = new HookManager();
hooks.on(HookEvent.APPROVAL_REQUESTED, ({ name }) => console.log(`may I? ${name}`));

const result = await run(agent({ name: "clerk", model, tools: [pay] }), "Pay what is due", {
  journal: process.argv[2],
  hooks,
});
console.log(`${result.status}: ${result.output}`);
