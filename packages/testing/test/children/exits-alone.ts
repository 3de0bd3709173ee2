// Uses everything and closes it. If something were left, this process would not end by itself.
import { loopbackOpenAI, scriptedModel, virtualClock } from "@ravi/testing";

const server = await loopbackOpenAI({
  script: [
    { when: "answer", answer: "one" },
    { when: "hang", answer: { text: "two", fault: { type: "hang", afterDeltas: 1 } } },
    { when: "delay", answer: { text: "three", delayMs: 3_600_000 } },
    { when: "cut", answer: { text: "four", fault: { type: "cut" } } },
  ],
  billFile: process.argv[2],
});
const calls = Promise.allSettled(
  ["answer", "hang", "delay", "cut"].map(async (content) => {
    const body = JSON.stringify({ model: "small", stream: true, messages: [{ role: "user", content }] });
    const response = await fetch(`${server.url}/chat/completions`, { method: "POST", body });
    return response.text();
  }),
);
while (server.bill().calls < 4) await new Promise((resolve) => setImmediate(resolve));
await server.close();
await calls;

const controller = new AbortController();
const request = { messages: [{ role: "user", content: "Hello" }] } as const;
const model = scriptedModel([{ delayMs: 3_600_000 }, { fault: { type: "hang" } }]);
const hanging = [model.generate(request, controller), model.generate(request, controller)];
controller.abort();
const outcomes = await Promise.allSettled(hanging);
virtualClock().setTimer(() => {}, 3_600_000);
process.stdout.write(`${outcomes.map((outcome) => outcome.status).join(" ")}\n`);
