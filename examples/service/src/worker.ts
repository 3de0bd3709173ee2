// One process of the server. It continues what it finds in the journal; if there is nothing, it starts a run.

import { setTimeout as sleep } from "node:timers/promises";
import { agent, runs, tool } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { Service } from "./service.ts";

const [, , journal = ""] = process.argv;

// A tool that must not be called twice: nobody could tell whether a call that was cut off has happened.
const pay = tool({
  name: "pay",
  description: "Pays a bill.",
  input: z.object({}),
  execute: async () => {
    console.log("paying");
    await sleep(500);
    console.log("paid");
    return "paid";
  },
});

// Stands in for a real model: it pays first, and then says so.
const model = scriptedModel(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? "It is paid." : { toolCalls: [{ name: "pay" }] },
);
const clerk = agent({ name: "clerk", model, tools: [pay] });

const service = new Service([clerk], journal);
process.once("SIGTERM", () => void service.drain(20_000));
await service.resumeAll();
// A rejection that nobody handles would end the process; in half a minute the disk may have room again.
setInterval(() => void service.resumeAll().catch(console.error), 30_000).unref();
if ((await runs({ journal })).length === 0) service.start(clerk, "Pay the bill.", "bill-7");
