import { randomInt } from "node:crypto";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../../restate");

/** The path of the server's executable, as `pnpm test:restate` installs it. Throws if it is not installed. */
function serverBinary(): string {
  const platform = `restate-server-${process.platform}-${process.arch}`;
  const path = join(FOLDER, "node_modules/@restatedev", platform, "bin/restate-server");
  if (existsSync(path)) return path;
  throw new Error("the Restate server is not installed: run `npm install --prefix restate` (216 MB)");
}

export interface ServerOptions {
  /** Makes this server node number `place` of a cluster whose nodes replicate their data. */
  readonly cluster?: { readonly nodes: readonly Ports[]; readonly place: number } | undefined;
  readonly directory?: string | undefined;
  /** Further environment variables of the server. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** The ports of one server. */
export interface Ports {
  readonly ingress: number;
  readonly admin: number;
  readonly node: number;
}

/** A Restate server on loopback, with a data directory of its own. */
export class RestateServer {
  readonly ingress: string;
  readonly admin: string;
  private readonly ports: Ports;
  /** The data directory. Removed by `stop`. */
  readonly directory: string;
  private readonly options: ServerOptions;
  private child: ChildProcess | undefined;
  private said = "";

  private constructor(ports: Ports, directory: string, options: ServerOptions) {
    this.ports = ports;
    this.directory = directory;
    this.options = options;
    this.ingress = `http://127.0.0.1:${ports.ingress}`;
    this.admin = `http://127.0.0.1:${ports.admin}`;
  }

  /** Starts a server in a new temporary directory, unless one is given, and waits until it is healthy. */
  static async start(options: ServerOptions = {}): Promise<RestateServer> {
    const { cluster } = options;
    const ports = cluster === undefined ? await freePorts() : cluster.nodes[cluster.place];
    if (ports === undefined) throw new RangeError(`there is no node ${String(cluster?.place)}`);
    const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "ravi-restate-")));
    const server = new RestateServer(ports, directory, options);
    await server.up();
    return server;
  }

  /** Starts the server, also after a kill, with the data that it had. */
  async up(): Promise<void> {
    // A killed server leaves files in its temporary folder. With TMPDIR set, they are removed together with its data.
    const env = {
      ...process.env,
      TMPDIR: this.directory,
      ...settings(this.ports, this.directory, this.options),
    };
    const child = spawn(serverBinary(), ["--no-logo"], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    const listen = (data: Buffer): void => void (this.said = (this.said + data.toString()).slice(-20_000));
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    await this.ready();
  }

  /** Kills the server (SIGKILL) and keeps its data, as a power failure would. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Kills the server and removes its data. */
  async stop(): Promise<void> {
    await this.end("SIGKILL");
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }

  /** The last output of the server, for the message of a failing test. */
  get output(): string {
    return this.said;
  }

  private async ready(): Promise<void> {
    for (;;) {
      if (this.child?.exitCode !== null) throw new Error(`the server did not start:\n${this.said}`);
      try {
        const answers = await Promise.all(
          [`${this.admin}/health`, `${this.ingress}/restate/health`].map((url) => fetch(url)),
        );
        if (answers.every(({ ok }) => ok)) return;
      } catch {
        // Not listening yet.
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const over = once(child, "exit");
    child.kill(signal);
    await over;
  }
}

function settings(
  ports: Ports,
  directory: string,
  { cluster, settings: more = {} }: ServerOptions,
): Record<string, string> {
  const nodes = cluster?.nodes.map(({ node }) => `http://127.0.0.1:${node}`) ?? [];
  return {
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_BASE_DIR: directory,
    // Without a name the server takes every folder in the data directory for one of its nodes.
    RESTATE_NODE_NAME: "ravi",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_ADDRESS: `127.0.0.1:${ports.node}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${ports.node}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ports.ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${ports.admin}`,
    RESTATE_ADMIN__DISABLE_WEB_UI: "true",
    RESTATE_DEFAULT_NUM_PARTITIONS: "4",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256MB",
    RESTATE_LOG_FILTER: "warn",
    RESTATE_LOG_DISABLE_ANSI_CODES: "true",
    NO_COLOR: "1",
    ...(cluster !== undefined && {
      RESTATE_CLUSTER_NAME: "ravi",
      RESTATE_NODE_NAME: `node-${cluster.place + 1}`,
      RESTATE_FORCE_NODE_ID: String(cluster.place + 1),
      RESTATE_AUTO_PROVISION: String(cluster.place === 0),
      RESTATE_DEFAULT_REPLICATION: "2",
      RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(nodes),
    }),
    ...more,
  };
}

/** Three ports that are free at the moment. */
export async function freePorts(): Promise<Ports> {
  const servers = await Promise.all([0, 1, 2].map(() => free()));
  const [ingress, admin, node] = servers.map(({ port }) => port);
  await Promise.all(servers.map(({ close }) => close()));
  if (ingress === undefined || admin === undefined || node === undefined) throw new Error("no free port");
  return { ingress, admin, node };
}

/**
 * Ports below the range that systems use for outgoing connections: such a connection could take the port between this check and
 * the server's start.
 */
const LOWEST_PORT = 20_000;
const HIGHEST_PORT = 32_000;

async function free(): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer();
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT);
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
      return { port, close: () => new Promise((done) => void server.close(() => done())) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}
