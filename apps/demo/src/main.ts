import { errorToJSON } from "@ravi/kernel";
import { HELP, readArgs } from "./args.ts";
import { printable } from "./view/printable.ts";

// Whoever listened has gone, so there is nobody to tell.
process.stderr.on("error", () => {});

try {
  const args = readArgs(process.argv.slice(2));
  if (args.help) console.log(HELP);
  else {
    // Loaded only where it is wanted: help is there at once.
    const { runDemo } = await import("./run-demo.ts");
    process.exitCode = Math.max(await runDemo(args), Number(process.exitCode ?? 0));
  }
} catch (error) {
  console.error(printable(`demo: ${errorToJSON(error).message}`));
  process.exitCode = 1;
}
