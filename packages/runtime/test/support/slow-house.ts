import {
  type HireLeaf,
  type Journal,
  type Ledger,
  type Limiter,
  type LLMClient,
  type MaybePromise,
  type Permissions,
  type PermissionDecision,
  type Pipeline,
  type Pipelines,
  type Reservation,
  defineTool,
  type ToolCall,
} from "@ravi/kernel";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done } from "./helpers.ts";

/** Ports that are somewhere else: every one answers late, tells where it was called, and may be stopped at just that moment. */
export class SlowHouse {
  readonly log: string[] = [];
  /** Reservations and places in the line that nobody has settled, given back or left yet. */
  open = 0;
  readonly inner = new MemoryJournal();
  private calls = 0;
  private readonly stopAt: number;
  stop: (() => void) | undefined;
  /** What was in the log when it was stopped. */
  stoppedAfter: number | undefined;

  constructor(stopAt: number) {
    this.stopAt = stopAt;
  }

  /** What was sent or run after the stop. */
  get late(): readonly string[] {
    const { log, stoppedAfter } = this;
    return stoppedAfter === undefined
      ? []
      : log.slice(stoppedAfter).filter((what) => /^(sent|run)/.test(what));
  }

  async at<T>(what: string, value: () => MaybePromise<T>): Promise<T> {
    this.log.push(what);
    this.calls++;
    if (this.stop !== undefined && this.calls === this.stopAt) {
      this.stoppedAfter = this.log.length;
      this.stop();
    }
    await new Promise(setImmediate);
    return value();
  }

  readonly model: LLMClient = {
    id: "m",
    info: { provider: "p", model: "m" },
    generate: () =>
      this.at("sent", () => ({
        message: { role: "assistant", content: "x" },
        finishReason: "stop",
        usage: { inputTokens: 1, outputTokens: 1 },
      })),
  };

  readonly permissions: Permissions = {
    isNoop: false,
    check: () => this.at("permission", (): PermissionDecision => ({ allow: true })),
  };

  readonly limiter: Limiter = {
    acquire: () =>
      this.at("line", () => {
        this.open++;
        const release = (): void => void this.open--;
        return { release, [Symbol.dispose]: release };
      }),
    slowDown() {},
  };

  readonly ledger = (): Ledger => {
    const close = (): { warnings: []; exceeded: [] } => {
      this.open--;
      return { warnings: [], exceeded: [] };
    };
    const reservation: Reservation = {
      settle: () => this.at("settle", close),
      cancel: async () => void (await this.at("give back", close)),
    };
    const reserve = (): Reservation => {
      this.open++;
      return reservation;
    };
    return {
      used: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 },
      reserve: () => this.at("reserve", reserve),
      charge: () => ({ warnings: [], exceeded: [] }),
      child: () => this.ledger(),
      remaining: () => ({ tokens: null, cost: null, turns: null, toolCalls: null }),
      snapshot: () => ({}),
    };
  };

  /** Layers that wait before they call on; the one around models has a signal of its own, and tries again. */
  readonly pipelines: Pipelines = {
    chat: this.layer(async (context, core) => {
      context.signal = new AbortController().signal;
      await core();
      await this.at("layer", () => undefined);
      await core();
    }),
    function: this.layer(async (_, core) => core()),
  };

  journal(): Journal {
    const { inner } = this;
    const slow: Pick<Journal, "claim" | "load" | "append" | "release"> = {
      claim: (...given) => this.at("claim", () => inner.claim(...given)),
      load: (...given) => this.at("load", () => inner.load(...given)),
      append: (...given) => this.at("append", () => inner.append(...given)),
      release: (...given) => this.at("release", () => inner.release(...given)),
    };
    return Object.assign(Object.create(inner) as MemoryJournal, slow);
  }

  private layer<C>(run: Pipeline<C>["run"]): Pipeline<C> {
    return {
      isNoop: false,
      admit: () => this.at("admit", () => undefined),
      run: async (context, core) => {
        await this.at("layer", () => undefined);
        await run(context, core);
      },
    };
  }

  /** Every kind of thing that can be paid for, one after the other and at once. */
  readonly lead = agent("lead", async (ctx) => {
    await ctx.llm(this.model, ask("first"));
    await ctx.tool(call("1"), this.tool);
    const child: HireLeaf = { kind: "hire", agent: this.child, input: "" };
    await ctx.batch([{ kind: "tool", call: call("2"), tool: this.tool }, child]);
    await ctx.llm(this.model, ask("last"), { wrapUp: true });
    return done("all of it");
  });
  private readonly child = agent("child", async (ctx) => {
    await this.at("run: child", () => undefined);
    await ctx.llm(this.model, ask("below"));
    return done("");
  });
  private readonly tool = defineTool({
    name: "pay",
    description: "",
    input: {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value: unknown) => this.at("schema", () => ({ value })),
        jsonSchema: { input: () => ({}), output: () => ({}) },
      },
    },
    execute: async (_, { llm }) => {
      await this.at("run", () => undefined);
      await llm(this.model, ask("inside"));
      return "paid";
    },
  });
}

function call(id: string): ToolCall {
  return { id, name: "pay", arguments: "{}" };
}
