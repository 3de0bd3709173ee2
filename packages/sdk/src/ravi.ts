#!/usr/bin/env node
import process from "node:process";
import { errorMessage, isUsageError } from "./cli/errors.ts";
import { perform } from "./cli/perform.ts";

// The program `ravi`: looks at the runs of a journal and answers them. It runs no agents, so it needs none.

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may stop early, as `head` does.
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`ravi: ${errorMessage(error)}\n`);
  process.exit(1);
});

const print = (text: string): void => void process.stdout.write(`${text}\n`);

try {
  const text = await perform(process.argv.slice(2), process.env, print);
  if (text !== "") print(text);
} catch (error) {
  process.stderr.write(`ravi: ${errorMessage(error)}\n`);
  process.exitCode = isUsageError(error) ? 2 : 1;
}
