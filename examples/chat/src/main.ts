import { defineTool, isRaviError } from "@ravi/kernel";
import { Summarization } from "@ravi/context";
import { FileSessionStore, SessionAgent } from "@ravi/session";
import picocolors from "picocolors";
import * as z from "zod";
import { HELP, readArgs } from "./args.ts";
import { chat } from "./chat.ts";
import { realModel, standInModel } from "./models.ts";
import { startStandIn } from "./stand-in.ts";
import { viewOn } from "./view.ts";

const clock = defineTool({
  name: "clock",
  description: "Says what time it is.",
  input: z.object({}),
  execute: () => new Date().toLocaleTimeString("en-GB"),
});

async function main(): Promise<void> {
  const args = readArgs(process.argv.slice(2));
  if (args.help) {
    console.log(HELP);
    return;
  }
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const view = viewOn(process.stdout, isTerminal && picocolors.isColorSupported);
  const server = args.model === undefined ? await startStandIn() : undefined;
  try {
    const model = server === undefined ? realModel(args.model ?? "", args.baseURL) : standInModel(server);
    const agent = new SessionAgent({
      name: "chat",
      model,
      store: new FileSessionStore(args.dir),
      tools: [clock],
      compaction: new Summarization({ model }),
      ...(args.session !== undefined && { sessionId: args.session }),
    });
    const { sessionId } = await agent.open();
    view.note(
      server === undefined
        ? `Talking to ${model.id}, for real money.`
        : "No real model: a script on this machine answers (try: count to 50, what time is it). --model openai:... uses a real one.",
    );
    view.note(
      `Session ${sessionId}; continue it later with --session ${sessionId}. /help lists all commands.`,
    );
    await chat({ agent, view, input: process.stdin, output: process.stdout, isTerminal });
  } finally {
    await server?.close();
  }
}

try {
  await main();
} catch (error) {
  console.error(
    `chat: ${isRaviError(error) ? error.message : error instanceof Error ? error.message : String(error)}`,
  );
  process.exitCode = 1;
}
