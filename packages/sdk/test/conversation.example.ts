import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, conversation, textOf } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";

// Stands in for a real model, so that this runs without a key: it says how many messages it has heard from the user.
const model = scriptedModel(({ messages }) => {
  const heard = messages.filter(({ role }) => role === "user").map((message) => textOf(message));
  return `That was number ${heard.length}: ${heard.at(-1)}`;
});
const host = agent({ name: "host", model, instructions: "You are a friendly host." });

const journal = await mkdtemp(join(tmpdir(), "ravi-")); // in your own program: ".ravi"
const options = {
  id: "ada", // whose conversation it is
  journal,
  budget: { tokens: 50_000 }, // of each turn
  total: { tokens: 500_000, messages: 100 }, // of the whole conversation
};

const chat = conversation(host, options);
const { output } = await chat.send("Hello!");
assert.equal(output, "That was number 1: Hello!");

// To stream an answer, start the turn and read its events.
const turn = await chat.start("What is new?");
let streamed = "";
for await (const { event } of turn.events()) if (event.type === "text") streamed += event.delta;
assert.equal(streamed, "That was number 2: What is new?");
assert.equal((await turn.result).status, "completed");
await chat.close();

// Later, perhaps in another process: the same id continues the conversation.
const later = conversation(host, { ...options, used: chat.used });
await later.resume().then((open) => open?.result); // a turn that was cut off; here there is none
const third = await later.send("Still there?");
assert.equal(third.output, "That was number 3: Still there?");
assert.equal((await later.messages()).length, 6);
await later.close();
await rm(journal, { recursive: true });
