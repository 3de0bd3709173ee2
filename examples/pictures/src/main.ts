// Pictures that come with the input of a run, and pictures that a tool shows.
//
// It needs no key: a server on loopback speaks OpenAI's protocol, and answers with the colour of the pictures that really came.

import assert from "node:assert/strict";
import { agent, type ChatMessage, model, run, team, textOf, tool, toolContent } from "@ravi/sdk";
import { loopbackOpenAI } from "@ravi/testing";
import * as z from "zod";
import { colourOf, picture } from "./colours.ts";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const server = await loopbackOpenAI({
  script({ messages, tools }) {
    const colours = messages.flatMap(coloursIn);
    const isAsked = (name: string) => tools?.some((known) => known.name === name) === true;
    if (isAsked("lift_the_lid") && colours.length === 1)
      return { toolCalls: [{ name: "lift_the_lid", arguments: {} }] };
    if (isAsked("handoff_painter") && messages.at(-1)?.role === "user")
      return { toolCalls: [{ name: "handoff_painter", arguments: { task: "Name its colour." } }] };
    const said = messages.filter(({ role }) => role === "tool").map(textOf);
    return [...colours.map((colour) => `I see ${colour}.`), ...said].join(" ");
  },
});
const eyes = model("openai:gpt-5.2", { baseURL: server.url, apiKey: "sk-loopback", api: "responses" });

const lift = tool({
  name: "lift_the_lid",
  description: "Lifts the lid of the box, and shows what is inside.",
  input: z.object({}),
  execute: () => toolContent([{ type: "text", text: "inside:" }, picture("green")]),
});
const inspector = agent({ name: "inspector", model: eyes, tools: [lift] });

// In your own program: `data:image/png;base64,${await readFile("box.png", "base64")}`, or a URL.
const box = { attachments: [picture("red")] };
const inspected = await run(inspector, "What is in this box?", box);
assert.match(inspected.output, /^I see red\. I see green\./);
console.log(inspected.output);

// The painter gets the pictures as well. Without "inherit" it would only get its task, because every picture costs tokens.
const painter = agent({ name: "painter", model: eyes });
const lead = team({ name: "lead", model: eyes, members: [{ agent: painter, attachments: "inherit" }] });
const asked = await run(lead, "Which colour has it?", box);
assert.equal(asked.output, "I see red. I see red.");
console.log(asked.output);
await server.close();

function coloursIn({ content }: ChatMessage): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => (part.type === "image" ? [colourOf(part.url)] : []));
}
