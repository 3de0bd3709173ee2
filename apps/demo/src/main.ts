import { errorToJSON } from "@ravi/kernel";
import { HELP, readArgs } from "./args.ts";
import { printable } from "./view/printable.ts";

// Standard error is closed, so there is nowhere left to report it.
process.stderr.on("error", () => {});

try {
  const args = readArgs(process.argv.slice(2));
  if (args.help) console.log(HELP);
  else {
    // Loaded on demand, so that `--help` answers at once.
    const { runDemo } = await import("./run-demo.ts");
    process.exitCode = Math.max(await runDemo(args), Number(process.exitCode ?? 0));
  }
} catch (error) {
  console.error(printable(`demo: ${errorToJSON(error).message}`));
  process.exitCode = 1;
}
