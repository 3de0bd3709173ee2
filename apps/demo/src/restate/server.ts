import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../../../restate");

export interface Server {
  readonly ingress: string;
  readonly admin: string;
  stop(): Promise<void>;
}

/** The path of the server's executable. A normal install does not include it, so the first call downloads it and says so. */
function binary(): string {
  const name = `restate-server-${process.platform}-${process.arch}`;
  const path = join(FOLDER, "node_modules/@restatedev", name, "bin/restate-server");
  if (existsSync(path)) return path;
  console.error("demo: installing the Restate server into restate/ (216 MB, once)");
  const env = { ...process.env, SCARF_ANALYTICS: "false" };
  execFileSync("npm", ["install", "--silent", "--prefix", FOLDER], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return path;
}

/** Starts a Restate server on this machine, with its data in `folder`, and waits until it is healthy. */
export async function startServer(folder: string): Promise<Server> {
  const program = binary();
  const [ingress, admin, node] = await Promise.all([freePort(), freePort(), freePort()]);
  const settings = {
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_NODE_NAME: "demo",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_ADMIN__DISABLE_WEB_UI: "true",
    RESTATE_DEFAULT_NUM_PARTITIONS: "4",
    // One stream per connection, so that both workers get some of the runs.
    RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: "1",
  };
  const keeper = fork(join(import.meta.dirname, "keeper.ts"), [program, folder], {
    env: { ...process.env, ...settings },
    execArgv: ["--no-warnings"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  const isUp = async (url: string): Promise<boolean> =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!((await isUp(`${urls.admin}/health`)) && (await isUp(`${urls.ingress}/restate/health`)))) {
    if (keeper.exitCode !== null) throw new Error(`the Restate server exited with code ${keeper.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    ...urls,
    async stop() {
      if (keeper.exitCode !== null || keeper.signalCode !== null) return;
      const over = once(keeper, "exit");
      keeper.disconnect();
      await over;
    },
  };
}

/** A TCP port that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise<void>((done) => void server.close(() => done()));
  return typeof address === "object" && address !== null ? address.port : 0;
}
