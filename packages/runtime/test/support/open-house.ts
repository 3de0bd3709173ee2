import * as z from "zod";
import {
  type Agent,
  type ChatContext,
  defineTool,
  type Estimate,
  type FunctionContext,
  type Hooks,
  type Leaf,
  type Limiter,
  type LLMClient,
  type Meter,
  type ModelResponse,
  type Permit,
  type Pipeline,
  type Price,
  type Reservation,
  type Settlement,
  type Telemetry,
  type Tool,
} from "@ravi/kernel";
import { type RuntimeOptions, wallClock } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done, FakeHeadcount, FakeLedger, turns } from "./helpers.ts";

/** How a port gives what it has, which is made when it is called; `part` says which of them it is. */
export type Manner = (part: string, make: () => unknown) => unknown;

/** A thenable that is no promise: its `then` gives nothing back. */
export function thenable(promise: Promise<unknown>): unknown {
  // Whether anybody listens to it or not.
  promise.catch(() => {});
  const settle = (resolve: (value: unknown) => void, reject: (error: unknown) => void): void =>
    void promise.then(resolve, reject);
  const name = ["th", "en"].join("");
  return { [name]: settle };
}

export const said = (content: string): ModelResponse => ({
  message: { role: "assistant", content },
  finishReason: "stop",
  usage: { inputTokens: 3, outputTokens: 2 },
});

/** A ledger whose reservations are counted, and those of its children. */
class CountingLedger extends FakeLedger {
  private readonly house: OpenHouse;

  constructor(house: OpenHouse) {
    super();
    this.house = house;
  }

  override reserve(): Reservation {
    return this.house.give("reserve", () => this.house.reservation());
  }

  override child(): CountingLedger {
    return new CountingLedger(this.house);
  }
}

/** A runtime with a port for everything around model and tool calls, each in the manner of the test. It counts what is open. */
export class OpenHouse {
  permits = 0;
  reservations = 0;
  spans = 0;
  tools = 0;
  readonly told: string[] = [];
  readonly journal: MemoryJournal;
  private readonly manner: Manner;

  constructor(manner: Manner, journal = new MemoryJournal()) {
    this.manner = manner;
    this.journal = journal;
  }

  /** All that was taken and not given back. */
  get open(): number {
    return this.permits + this.reservations + this.spans + this.tools;
  }

  /** As a port says what it returns, whatever it is. */
  give<T>(part: string, make: () => T): T {
    return this.manner(part, make) as T;
  }

  get options(): RuntimeOptions {
    const { meter, limiter, hooks, telemetry } = this;
    const pipelines = {
      chat: this.layer<ChatContext>("chat"),
      function: this.layer<FunctionContext>("function"),
    };
    const ledger = (): CountingLedger => new CountingLedger(this);
    const headcount = (): FakeHeadcount => new FakeHeadcount();
    const clock = { ...wallClock, now: () => 1 };
    return { meter, limiter, hooks, telemetry, pipelines, ledger, headcount, clock };
  }

  /** The same journal, whose appends come in the manner of the test. */
  get ownJournal(): MemoryJournal {
    const { journal } = this;
    const own = Object.create(journal) as MemoryJournal;
    own.append = (...given) => this.give("append", () => journal.append(...given));
    return own;
  }

  /** One who calls a model, tools at once and one by one, several models, and somebody who does the same below. */
  get agents(): readonly [lead: Agent, child: Agent] {
    const { model, quick, slow } = this;
    const tool = (id: string, asked: Tool): Leaf => ({
      kind: "tool",
      call: { id, name: asked.name, arguments: "{}" },
      tool: asked,
    });
    const child = agent("child", async (ctx) => {
      await ctx.llm(model, ask("below"));
      await ctx.tool({ id: "c", name: "quick", arguments: "{}" }, quick);
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const steps: (() => Promise<unknown>)[] = [
        () => ctx.llm(model, ask("first")),
        () => ctx.batch([tool("1", slow), tool("2", quick)]),
        () => ctx.batch([tool("3", quick)]),
        () => ctx.batch(["a", "b"].map((text): Leaf => ({ kind: "llm", model, request: ask(text) }))),
        () => ctx.hire({ agent: child, input: "" }),
        () => ctx.llm(model, ask("last")),
      ];
      const ends: string[] = [];
      for (const step of steps) ends.push(await step().then(endOf, endOf));
      await ctx.check();
      return done(ends.join(" "));
    });
    return [lead, child];
  }

  private get model(): LLMClient {
    const info = { provider: "x", model: "m" };
    return { id: "m", info, generate: () => this.give("generate", async () => said("fine")) };
  }

  private get quick(): Tool {
    const execute = (): unknown => this.give("tool", () => "quick");
    return defineTool({ name: "quick", description: "", input: z.object({}), idempotent: true, execute });
  }

  private get slow(): Tool {
    const execute = async (): Promise<string> => {
      this.tools++;
      await turns(1);
      this.tools--;
      return "slow";
    };
    return defineTool({ name: "slow", description: "", input: z.object({}), idempotent: true, execute });
  }

  private get meter(): Meter {
    const estimate: Estimate = { inputTokens: 5, maxOutputTokens: 7, price: { usd: 0.5 } };
    const price: Price = { usd: 0.25 };
    return {
      estimate: () => this.give("estimate", () => estimate),
      price: () => this.give("price", () => price),
    };
  }

  private get limiter(): Limiter {
    const acquire = (): Permit => {
      this.permits++;
      return { release: () => void this.permits--, [Symbol.dispose]: () => {} };
    };
    return { acquire: () => this.give("acquire", acquire), slowDown: () => {} };
  }

  private layer<C>(part: string): Pipeline<C> {
    return { isNoop: false, hasAdmits: false, admit: () => {}, run: (_, core) => this.give(part, core) };
  }

  private get hooks(): Hooks {
    return {
      has: () => true,
      dispatch: (event, payload) => {
        if (!("key" in payload)) return;
        this.told.push(`${payload.execId} ${payload.key} ${event}`);
      },
      drain: () => {},
    };
  }

  private get telemetry(): Telemetry {
    const end = (): void => void this.spans--;
    return {
      isNoop: false,
      metric: () => {},
      startSpan: () => {
        this.spans++;
        return { setAttribute: () => {}, recordError: () => {}, end };
      },
    };
  }

  reservation(): Reservation {
    this.reservations++;
    const settlement: Settlement = { warnings: [], exceeded: [] };
    const settle = (): Settlement => {
      this.reservations--;
      return this.give("settle", () => settlement);
    };
    return { settle, cancel: () => void this.reservations-- };
  }
}

function endOf(outcome: unknown): string {
  if (outcome instanceof Error) return outcome.message;
  const all: unknown[] = Array.isArray(outcome) ? outcome : [outcome];
  return all
    .map((one) =>
      typeof one === "object" && one !== null && "status" in one ? String(one.status) : "answered",
    )
    .join("+");
}
