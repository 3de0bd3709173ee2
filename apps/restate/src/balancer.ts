import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * One address for several workers, like a Kubernetes service. A new connection goes to the worker with the fewest connections; a
 * worker that cannot be reached is skipped.
 */
export class Balancer implements AsyncDisposable {
  readonly url: string;
  private readonly server: Server;
  private readonly open = new Map<number, Set<Socket>>();

  private constructor(server: Server, port: number) {
    this.server = server;
    this.url = `http://127.0.0.1:${port}`;
    server.on("connection", (socket) => void this.pass(socket));
  }

  static async start(): Promise<Balancer> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return new Balancer(server, typeof address === "object" && address !== null ? address.port : 0);
  }

  /** Adds the worker on this port. */
  add(port: number): void {
    this.open.set(port, new Set());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const sockets of this.open.values()) for (const socket of sockets) socket.destroy();
    await new Promise<void>((done) => void this.server.close(() => done()));
  }

  private async pass(from: Socket): Promise<void> {
    from.on("error", () => from.destroy());
    const byLoad = [...this.open].toSorted(([, a], [, b]) => a.size - b.size);
    for (const [port, sockets] of byLoad) {
      const to = connect(port, "127.0.0.1");
      try {
        await once(to, "connect");
      } catch {
        continue;
      }
      sockets.add(from);
      const end = (): void => {
        sockets.delete(from);
        from.destroy();
        to.destroy();
      };
      to.on("error", end).on("close", end);
      from.on("close", end);
      from.pipe(to).pipe(from);
      return;
    }
    from.destroy();
  }
}
