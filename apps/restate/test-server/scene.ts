import { type Answer, type LoopbackCall, loopbackOpenAI, type LoopbackServer } from "@ravi/testing";
import type { RestateRuntime } from "@ravi/runtime-restate";
import { compose } from "../src/compose.ts";
import { Balancer } from "../src/balancer.ts";
import { RestateServer, type ServerOptions } from "../src/server.ts";
import { PRICES, team } from "../src/team.ts";
import { WorkerProcess, type WorkerOptions } from "../src/worker-process.ts";

/** One stream per connection, so that both workers get some of the work. */
export const SPREAD = { RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: "1" } as const;

export interface SceneOptions extends CallOptions {
  readonly server?: ServerOptions | RestateServer;
}

interface CallOptions {
  readonly delayMs: number;
  /** The first calls are answered only when this many are under way, so that a test can rely on them being simultaneous. */
  readonly together?: number | undefined;
}

/** A Restate server, a model server with a bill, workers as processes, and this process as their client. */
export class Scene implements AsyncDisposable {
  readonly server: RestateServer;
  readonly model: LoopbackServer;
  readonly client: RestateRuntime;
  private readonly balancer: Balancer;
  readonly lead = team({ id: "none", info: { provider: "none", model: "none" }, generate: refuse }).lead;
  /** The model calls: how many are under way, and the most that were at once. */
  readonly calls: Calls;
  private readonly workers: WorkerProcess[] = [];

  private constructor(server: RestateServer, model: LoopbackServer, balancer: Balancer, calls: Calls) {
    this.server = server;
    this.model = model;
    this.balancer = balancer;
    this.calls = calls;
    this.client = compose({ ingress: server.ingress, admin: server.admin });
  }

  static async open(options: SceneOptions): Promise<Scene> {
    const { server: given = { settings: SPREAD } } = options;
    const server = given instanceof RestateServer ? given : await RestateServer.start(given);
    const calls = new Calls(options);
    const model = await loopbackOpenAI({
      script: (_, call) => calls.answer(call, textIn(call.body)),
      prices: PRICES,
    });
    return new Scene(server, model, await Balancer.start(), calls);
  }

  async worker(key: string, more: Partial<WorkerOptions> = {}): Promise<WorkerProcess> {
    const { server, model, balancer } = this;
    const worker = await WorkerProcess.start({ server, model: model.url, key, ...more });
    balancer.add(worker.port);
    this.workers.push(worker);
    return worker;
  }

  /** Starts that many workers and deploys them. */
  async workersAtWork(count: number): Promise<WorkerProcess[]> {
    const keys = Array.from({ length: count }, (_, n) => `sk-loopback-${String(n + 1).padStart(4, "0")}`);
    const workers = await Promise.all(keys.map((key) => this.worker(key)));
    await this.deploy();
    return workers;
  }

  async deploy(): Promise<void> {
    await this.client.deploy(this.balancer.url);
  }

  /** How often each call was paid for, by its idempotency key. */
  bill(): Map<string, number> {
    const paid = new Map<string, number>();
    for (const { idempotencyKey = "none" } of this.model.bill().entries)
      paid.set(idempotencyKey, (paid.get(idempotencyKey) ?? 0) + 1);
    return paid;
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    for (const worker of this.workers) await worker.kill();
    await this.balancer[Symbol.asyncDispose]();
    await this.model.close();
    await this.server.stop();
  }
}

class Calls {
  underWay = 0;
  most = 0;
  /** The workers that have called the model, by the last characters of their API keys. */
  readonly callers = new Set<string>();
  private readonly delayMs: number;
  private readonly together: number;
  private readonly met = Promise.withResolvers<void>();

  constructor({ delayMs, together = 1 }: CallOptions) {
    this.delayMs = delayMs;
    this.together = together;
  }

  async answer({ signal, key = "none" }: LoopbackCall, text: string): Promise<Answer> {
    this.callers.add(key);
    this.most = Math.max(this.most, ++this.underWay);
    if (this.underWay === this.together) this.met.resolve();
    await this.met.promise;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.delayMs);
    signal.addEventListener("abort", () => resolve());
    await promise;
    clearTimeout(timer);
    this.underWay--;
    return { text: `heard ${text}`, usage: { inputTokens: 1, outputTokens: 1 } };
  }
}

function textIn(body: object): string {
  const messages = Reflect.get(body, "messages") as readonly { readonly content: string }[];
  return messages.at(-1)?.content ?? "";
}

function refuse(): never {
  throw new Error("the client runs no agent");
}

/** The team's output if every call was answered. */
export function expected(researchers: number, steps: number): string {
  const of = (topic: number): string =>
    Array.from({ length: steps }, (_, step) => `heard topic ${topic} step ${step + 1}`).join(", ");
  return [...Array.from({ length: researchers }, (_, topic) => of(topic)), "heard sum it up"].join("; ");
}
