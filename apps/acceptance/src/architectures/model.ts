import { type ModelRequest, textOf } from "@ravi/kernel";
import { scriptedModel, type ScriptedModel } from "@ravi/testing";

type Said = string | { name: string; arguments: Record<string, string> }[];

const better = (text: string): boolean => text.includes("second");

/** Words of each strategy's prompts, and an answer that leads it through all of its steps. */
const SAYINGS: readonly (readonly [words: string, say: (text: string, system: string) => Said])[] = [
  ["Your budget is used up", () => "all that I know"],
  [
    "Criticise the answer",
    (text) => (better(text) ? '{"satisfied": true}' : '{"satisfied": false, "feedback": "more"}'),
  ],
  ["addresses the criticism", () => "second draft"],
  ["How well does the answer", (text) => (better(text) ? "9/10" : '{"score": 0.3, "feedback": "more"}')],
  ["do differently?", () => "Say more."],
  ["- Say more.", () => "second attempt"],
  ["Judge the answer strictly", (text) => (better(text) ? '{"score": 0.95}' : "3/10, say more")],
  ["addresses this feedback", () => "second answer"],
  ["different next thoughts", () => '["north", "south", "west"]'],
  [
    "How promising",
    (text) => `{"score": ${text.lastIndexOf("south") > text.lastIndexOf("north") ? 0.9 : 0.2}}`,
  ],
  ["from these thoughts", (text) => `via ${text.match(/\d\. \w+/g)?.join(" ") ?? "nothing"}`],
  ["Make a plan", () => "1. look up one\n2. look up two"],
  ["What was done", (text) => `done: ${text.match(/facts about \w+/g)?.join(", ") ?? "nothing"}`],
  [
    "Make the whole plan now",
    () =>
      '{"steps": [{"id": "E1", "tool": "look_up", "input": {"query": "one"}}, {"id": "E2", "tool": "LLM", "input": "two"}, {"id": "E3", "tool": "look_up", "input": {"query": "#E2"}}]}',
  ],
  ["one step of a larger task", () => "thought"],
  ["from the evidence", (text) => `evidence: ${text.match(/facts about \w+/g)?.join(", ") ?? "none"}`],
  ["Who should answer this?", () => '{"route": "ann", "confidence": 0.9}'],
  ["Which is the best?", () => '{"vote": 2}'],
  ["These answers came out", () => "the judge says green"],
  ['last line "Answer: "', (_, system) => `Answer: ${system.includes("ann") ? "red" : "green"}`],
  ["HANDOFF name", (_, system) => (system.includes("ann") ? "HANDOFF bob: you know it" : "bob knows")],
  [
    "If the task is solved",
    (text, system) =>
      system.includes("ann") ? "a clue" : text.includes("a clue") ? "that is all" : "nothing yet",
  ],
  ["from the board", () => "from the clue"],
  [
    "Who should write next?",
    (text) => (text.includes("[bob]") ? '{"done": true}' : text.includes("[ann]") ? "bob" : "ann"),
  ],
];

/** A model for all twelve strategies. The same request always gets the same answer. */
export function thinker(): ScriptedModel {
  return scriptedModel(
    (request) => {
      const said = reply(request);
      const usage = { inputTokens: 10, outputTokens: 2 };
      return typeof said === "string" ? { text: said, usage } : { toolCalls: said, usage };
    },
    { info: { provider: "test", model: "fixed" } },
  );
}

function reply(request: ModelRequest): Said {
  const text = textOf(request.messages.findLast(({ role }) => role === "user") ?? { content: "" });
  const system = textOf(request.messages.find(({ role }) => role === "system") ?? { content: "" });
  for (const [words, say] of SAYINGS) if (text.includes(words)) return say(text, system);
  return working(request, text, system);
}

/** Answers in a tool loop: first a tool call or a delegation, then an answer from the results. */
function working({ messages, tools = [] }: ModelRequest, text: string, system: string): Said {
  const found = messages.flatMap((message) => (message.role === "tool" ? [textOf(message)] : []));
  if (system.includes("You lead a team")) {
    if (found.length === 0)
      return ["ann", "bob"].map((worker) => ({
        name: "delegate",
        arguments: { worker, task: `${worker}'s part` },
      }));
    return found.length === 2
      ? [{ name: "forward_message", arguments: { worker: "bob" } }]
      : found.join(" and ");
  }
  if (found.length > 0) return `I found ${found.join(" and ")}`;
  const query = /look up (\w+)$/.exec(text)?.[1] ?? "it";
  return tools.length === 0 ? "my answer" : [{ name: "look_up", arguments: { query } }];
}
