// Answers letters until the shared budget is used up. Started twice by main.ts, with the file of the ledger and its limit.

import { agent, run } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import { SharedLedger } from "./shared-ledger.ts";

const [file = "", limit = "0"] = process.argv.slice(2);
const acme = new SharedLedger(file, "tenant acme", { maxCostUsd: Number(limit) });
const model = scriptedModel(() => ({
  text: "Dear customer, we have read your letter.",
  usage: { inputTokens: 200, outputTokens: 400 },
}));
const clerk = agent({ name: "clerk", model, settings: { maxOutputTokens: 500 }, budget: acme });

const prices = { scripted: { input: 1, output: 2 } };
let [answered, spent] = [0, 0];
for (let round = 0; round < 20; round++) {
  const runs = Array.from({ length: 5 }, () => run(clerk, "A letter", { prices }));
  for (const { status, cost } of await Promise.all(runs)) {
    if (status === "completed") answered++;
    spent += cost ?? 0;
  }
}
acme.close();
console.log(JSON.stringify({ answered, spent }));
