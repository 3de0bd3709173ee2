import { spawn } from "node:child_process";

// Parent process of the Restate server. It kills the server when the demo ends, in whatever way; otherwise the server would run
// on forever.

const [program = "", folder = ""] = process.argv.slice(2);
// In a process group of its own, so that Ctrl-C reaches only the demo, which then reports what happens. A killed server leaves
// files in its temporary folder; with TMPDIR set, they are removed together with its data.
const server = spawn(program, ["--no-logo", `--base-dir=${folder}`], {
  stdio: "ignore",
  detached: true,
  env: { ...process.env, TMPDIR: folder },
});
server.once("exit", (code) => process.exit(code ?? 1));
server.once("error", () => process.exit(1));
// Whatever the server has acknowledged is on its disk, so a SIGKILL loses nothing.
process.on("disconnect", () => server.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
