// A chat in the browser: streaming that survives a lost connection, approvals, a stop button, and turns that survive a restart of the
// server. It needs no key: a script stands in for a model (concierge.ts). `--help` lists the options.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { HELP, readArgs } from "./args.ts";
import { Chats } from "./chats.ts";
import { concierge, NEEDS_APPROVAL } from "./concierge.ts";
import { createWeb } from "./server.ts";

async function main(): Promise<void> {
  const { port, dir, model, help } = readArgs(process.argv.slice(2));
  if (help) return console.log(HELP);
  const ending = endOfProcess();
  const chats = new Chats(concierge(model), dir);
  const server = createWeb(chats, NEEDS_APPROVAL);
  try {
    const resumed = await chats.resumeAll();
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    if (resumed > 0) console.log(`unfinished turns that continue: ${resumed}`);
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await ending;
  } finally {
    // First the turns, so that they are suspended and not cut off; then the connections, which would keep the server open.
    server.close();
    await chats.close();
    server.closeAllConnections();
  }
}

/** Resolves at the first Ctrl-C or SIGTERM, or when nothing more can be printed. The second signal ends the process at once. */
function endOfProcess(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isEnding = false;
  const end = (signal: NodeJS.Signals, number: number): void => {
    if (isEnding) process.exit(128 + number);
    isEnding = true;
    console.log(`${signal}: turns are suspended; once more to end at once`);
    resolve();
  };
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
  process.stdout.on("error", () => {
    process.exitCode = 1;
    resolve();
  });
  return promise;
}

try {
  await main();
} catch (error) {
  console.error(`web: ${problemOf(error)}`);
  process.exitCode = 1;
}

function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isTaken = "code" in error && error.code === "EADDRINUSE";
  return isTaken
    ? `${error.message}; --port chooses another port, and --port 0 any that is free`
    : error.message;
}
