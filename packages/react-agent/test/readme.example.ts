import assert from "node:assert/strict";
import { defineTool, type LLMClient, type ModelResponse, type StandardSchema } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ReActAgent } from "@ravi/react-agent";

const population = defineTool({
  name: "population",
  description: "How many people live in a city.",
  input: objectWith<{ city: string }>("city", "string"), // with zod: z.object({ city: z.string() })
  execute: ({ city }) => ({ Bern: 146_000, Basel: 178_000 })[city] ?? "unknown",
});

const agent = new ReActAgent({
  name: "geographer",
  model: pretendModel(), // for a real model change only this line: openai("…"), anthropic("…")
  instructions: "Answer with a number. Look it up first.",
  tools: [population],
  output: objectWith<{ people: number }>("people", "number"),
  maxSteps: 10,
});

// `@ravi/runtime` runs it with budgets and a journal. A bare context enforces no rules, which is enough for trying things out.
const ctx = bareContext({ agent });
const result = await agent.run(ctx, ctx.inbox("How many people live in Bern?"));

assert.equal(result.status, "completed");
assert.equal(result.structured?.people, 146_000); // typed by `output`

/** Stands in for a real model: looks the city up, gives an answer of the wrong shape, and corrects it when told what is wrong. */
function pretendModel(): LLMClient {
  const toolCalls = [{ id: "call_0", name: "population", arguments: '{"city":"Bern"}' }];
  const answers: ModelResponse[] = [
    { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls" },
    { message: { role: "assistant", content: "About 146000." }, finishReason: "stop" },
    { message: { role: "assistant", content: '{"people":146000}' }, finishReason: "stop" },
  ];
  return {
    id: "pretend",
    info: { provider: "pretend", model: "pretend" },
    generate: async () => answers.shift() ?? assert.fail("no such call"),
  };
}

/** A schema with one field, written by hand so that this example needs no schema library. */
function objectWith<T extends object>(field: keyof T & string, type: "string" | "number"): StandardSchema<T> {
  const fits = (value: unknown): value is T =>
    typeof value === "object" && value !== null && typeof Reflect.get(value, field) === type;
  const jsonSchema = () => ({ type: "object", properties: { [field]: { type } }, required: [field] });
  return {
    "~standard": {
      version: 1,
      vendor: "example",
      validate: (value) =>
        fits(value) ? { value } : { issues: [{ message: `expected a ${type}`, path: [field] }] },
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  };
}
