import { defineTool, type LLMClient } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import * as z from "zod";

const FORECASTS: Readonly<Record<string, string>> = {
  Oslo: "2 °C and snow",
  Lisbon: "18 °C and dry",
  Cairo: "31 °C and sunny",
};

const forecast = defineTool({
  name: "forecast",
  description: "Today's weather in a city.",
  input: z.object({ city: z.string() }),
  idempotent: true,
  execute: ({ city }) => FORECASTS[city] ?? `nothing is known of ${city}`,
});

/** An agent that does not know which provider its model has. */
export function guide(model: LLMClient): ReActAgent {
  return new ReActAgent({
    name: "guide",
    model,
    instructions: "You help people pack. Look the weather up before you answer, and answer in one sentence.",
    tools: [forecast],
    settings: { reasoning: { effort: "low" }, maxOutputTokens: 2_000 },
  });
}
