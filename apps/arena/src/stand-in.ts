import { type ModelRequest, textOf } from "@ravi/kernel";
import { scriptedModel, type ScriptedModel, type virtualClock } from "@ravi/testing";

export const QUESTION = "Pens are sold at 3 for $4. What do 18 pens cost?";

const SUM = "18 / 3 * 4";
const ANSWER = "18 pens cost $24.";
const CHECKED = "18 pens cost $24. Checked: six packs of three, at $4 each.";

/** Simulated latency of a call: a fixed time until the first character, and a time for each character. */
const FIRST_MS = 400;
const EACH_CHARACTER_MS = 4;

/**
 * Stands in for a model, so that the arena needs no key. It recognises each request by the strategies' own prompts, and knows one
 * question. Its answers are fixed; what the strategies do with them is real.
 */
export function standIn(clock: ReturnType<typeof virtualClock>): ScriptedModel {
  const info = { provider: "scripted", model: "stand-in" };
  return scriptedModel(
    (request) => {
      const said = reply(request);
      if (typeof said !== "string") return { toolCalls: said, delayMs: FIRST_MS };
      return { text: said, delayMs: FIRST_MS + said.length * EACH_CHARACTER_MS };
    },
    { id: "stand-in", info, clock, record: false },
  );
}

type Said = string | { name: string; arguments: Record<string, string> }[];

function reply(request: ModelRequest): Said {
  const text = textOf(request.messages.findLast(({ role }) => role === "user") ?? { content: "" });
  const system = textOf(request.messages.find(({ role }) => role === "system") ?? { content: "" });
  for (const [words, say] of SAYINGS) if (text.includes(words)) return say(text, system);
  return working(request, system);
}

const isChecked = (text: string): boolean => text.includes("Checked:");

const SAYINGS: readonly (readonly [words: string, say: (text: string, system: string) => string])[] = [
  [
    "Criticise the answer",
    (text) =>
      isChecked(text)
        ? '{"satisfied": true}'
        : '{"satisfied": false, "feedback": "Show how it can be checked."}',
  ],
  ["addresses the criticism", () => CHECKED],
  [
    "How well does the answer",
    (text) => (isChecked(text) ? '{"score": 0.95}' : '{"score": 0.6, "feedback": "It is not checked."}'),
  ],
  ["do differently?", () => "Check the result against the packs."],
  ["Lessons from earlier attempts", () => CHECKED],
  [
    "Judge the answer strictly",
    (text) =>
      isChecked(text) ? '{"score": 0.95}' : '{"score": 0.7, "feedback": "Show how it can be checked."}',
  ],
  ["addresses this feedback", () => CHECKED],
  [
    "different next thoughts",
    () => '["Count the packs: 18 / 3 is 6.", "Find the price of one pen.", "Guess."]',
  ],
  ["How promising", (text) => (text.trimEnd().includes("Guess.") ? '{"score": 0.1}' : '{"score": 0.8}')],
  ["from these thoughts", () => ANSWER],
  ["Make a plan", () => '["Work out the number of packs", "Multiply by the price of a pack"]'],
  [
    "Make the whole plan now",
    () =>
      `{"steps": [{"id": "E1", "tool": "calculate", "input": {"expression": "18 / 3"}}, {"id": "E2", "tool": "calculate", "input": {"expression": "#E1 * 4"}}]}`,
  ],
  ["from the evidence", () => ANSWER],
  ["What was done", () => ANSWER],
  ["Who should answer this?", () => '{"route": "maths", "confidence": 0.9}'],
  ["The others said", () => "The packs settle it.\nAnswer: $24"],
  [
    "Argue as",
    (text) =>
      text.includes("sceptic")
        ? "Perhaps they are not sold one by one.\nAnswer: at least $24, I think"
        : "Six packs.\nAnswer: $24",
  ],
  [
    "HANDOFF name",
    (_, system) => (system.includes("You are checker") ? "HANDOFF maths: work it out" : ANSWER),
  ],
  [
    "If the task is solved",
    (_, system) => (system.includes("You are checker") ? `SOLUTION: ${CHECKED}` : "Six packs at $4: $24."),
  ],
];

/** Answers in a tool loop: first it calculates or delegates, then it gives the final answer. */
function working({ messages, tools = [] }: ModelRequest, system: string): Said {
  if (messages.some(({ role }) => role === "tool")) return ANSWER;
  if (tools.some(({ name }) => name === "delegate") && system.includes("You lead a team"))
    return ["maths", "checker"].map((worker) => ({
      name: "delegate",
      arguments: { worker, task: QUESTION },
    }));
  return tools.length === 0 ? ANSWER : [{ name: "calculate", arguments: { expression: SUM } }];
}
