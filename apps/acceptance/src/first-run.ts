import { registerHooks } from "node:module";
import { agent, run } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";

// Prints what the first run of a process with this budget loads: node first-run.ts <tokens>.

const loaded: string[] = [];
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier.startsWith("gpt-tokenizer")) loaded.push(specifier);
    return next(specifier, context);
  },
});

const [tokens = ""] = process.argv.slice(2);
const model = { ...scriptedModel(["Hello."]), info: { provider: "openai", model: "gpt-4o-mini" } };
const { status } = await run(agent({ name: "greeter", model }), "Good morning.", {
  budget: { usd: 1, ...(tokens !== "" && { tokens: Number(tokens) }) },
});
console.log(JSON.stringify({ status, loaded }));
