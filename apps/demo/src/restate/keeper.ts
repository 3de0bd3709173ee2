import { spawn } from "node:child_process";

// Keeps the Restate server for the demo: it ends with the demo, however that ends. A server that nobody stops runs on for ever.

const [program = "", folder = ""] = process.argv.slice(2);
// A group of its own: Ctrl-C is for the demo, which then says what happens. What the server leaves in its temporary folder when
// it is killed goes with its own.
const server = spawn(program, ["--no-logo", `--base-dir=${folder}`], {
  stdio: "ignore",
  detached: true,
  env: { ...process.env, TMPDIR: folder },
});
server.once("exit", (code) => process.exit(code ?? 1));
server.once("error", () => process.exit(1));
// What it has acknowledged is on its disk; nothing is lost by not waiting for a polite end.
process.on("disconnect", () => server.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
