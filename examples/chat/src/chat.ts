import { createInterface } from "node:readline";
import { isCancellation } from "@ravi/kernel";
import type { SessionAgent } from "@ravi/session";
import { command } from "./commands.ts";
import type { View } from "./view.ts";

export interface ChatOptions {
  readonly agent: SessionAgent;
  readonly view: View;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly isTerminal: boolean;
}

/** Reads lines until there are no more, or until the user leaves. */
export async function chat({ agent, view, input, output, isTerminal }: ChatOptions): Promise<void> {
  const lines = createInterface({ input, ...(isTerminal && { output }), terminal: isTerminal, prompt: "> " });
  const waiting: string[] = [];
  let wake = (): void => {};
  const state = { isOver: false, isWarned: false };
  const leave = (): void => {
    state.isOver = true;
    waiting.length = 0;
    lines.close();
    wake();
  };
  const interrupt = (): void => {
    const isBusy = !agent.isIdle();
    const unheard = isBusy ? agent.abort("Ctrl-C") : [];
    if (state.isWarned || state.isOver) return leave();
    state.isWarned = true;
    for (const { text } of unheard) view.note(`[not sent: ${text}]`);
    view.note(isBusy ? "[stopped; press Ctrl-C again to leave]" : "[press Ctrl-C again to leave]");
    if (isTerminal && !isBusy) lines.prompt();
  };
  /** The output is closed: there is nobody to talk to any more. */
  const quit = (): void => {
    agent.abort("the chat ends");
    leave();
  };
  const terminate = (_: NodeJS.Signals, number: number): void => {
    process.exitCode = 128 + number;
    quit();
  };
  lines.on("SIGINT", interrupt);
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", terminate);
  process.on("SIGHUP", terminate);
  // Never removed: what is written on the way out fails too. A reader that has left (`| head`) has what it wanted.
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && process.exitCode === undefined) {
      process.exitCode = 1;
      console.error(`chat: cannot write to standard output any more (${error.message})`);
    }
    quit();
  });
  lines.on("line", (line) => {
    state.isWarned = false;
    if (!isTerminal || !steered(line, agent)) waiting.push(line);
    wake();
  });
  lines.on("close", () => {
    state.isOver = true;
    wake();
  });
  const showing = showEvents(agent, view);
  try {
    for (;;) {
      if (isTerminal && !state.isOver) lines.prompt();
      while (waiting.length === 0 && !state.isOver) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
      const line = waiting.shift();
      if (line === undefined) return;
      if (line.trim() === "") continue;
      const next = await answer(line, agent, view);
      // Nobody watches the output, so the exit code tells the caller that something was not answered.
      if (next === "failed" && !isTerminal) process.exitCode ??= 1;
      if (next === "leave") return;
    }
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", terminate);
    process.off("SIGHUP", terminate);
    lines.close();
    await agent.shutdown();
    await showing;
  }
}

/** Passes a line to the running turn. Only in a terminal, where the user sees the answer come; piped lines wait for their turn. */
function steered(line: string, agent: SessionAgent): boolean {
  if (agent.isIdle() || line.startsWith("/") || line.trim() === "") return false;
  try {
    agent.steer(line);
    return true;
  } catch {
    // The turn has just ended, so the line begins another one.
    return false;
  }
}

async function answer(line: string, agent: SessionAgent, view: View): Promise<"go on" | "failed" | "leave"> {
  const isCommand = line.startsWith("/");
  try {
    if (isCommand) {
      const said = await command(line, agent);
      if (said === undefined) return "leave";
      view.note(said);
    } else await agent.invoke(line, { channel: "terminal" });
  } catch (error) {
    if (isCancellation(error)) return "go on";
    view.note(`error: ${error instanceof Error ? error.message : String(error)}`);
    if (!isCommand) return "failed";
  }
  return "go on";
}

async function showEvents(agent: SessionAgent, view: View): Promise<void> {
  for await (const event of agent.events()) view.show(event);
}
