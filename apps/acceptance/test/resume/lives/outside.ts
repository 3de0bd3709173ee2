import * as z from "zod";
import {
  type AbortSignalLike,
  type CallOptions,
  cancellationOf,
  defineTool,
  type LLMClient,
  type Meter,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  ProviderError,
  type Tool,
  type ToolContext,
  totalTokens,
} from "@ravi/kernel";
import type { VirtualClock } from "@ravi/testing";
import type { CallPlan, Deed, ToolPlan } from "./plan.ts";

const INPUT = 10;
const OUTPUT = 20;
/** What is set aside for every call. */
export const MOST = INPUT + OUTPUT;
const USD = 1e-6;

export const meter: Meter = {
  estimate: (_, { maxOutputTokens = OUTPUT }) => ({
    inputTokens: INPUT,
    maxOutputTokens,
    price: { usd: (INPUT + maxOutputTokens) * USD },
  }),
  price: (_, usage) => ({ usd: totalTokens(usage) * USD }),
};

/** A call in the provider's own book, with the least and the most that it may have cost. */
interface Sent {
  readonly process: number;
  readonly what: string;
  least: number;
  most: number;
  isAnswered: boolean;
  isSeen: boolean;
}

const CALL = /^(llm|tool|batch|beside)/;
const FAILURE = / ! | failed | denied | cancelled|rejected/;

/** How a broken implementation would differ. */
export type Planted = "a forgotten end" | "a lost seat" | "a higher bill";

/** What outlives every process: the provider's book, what tools have done, what agents have seen, and the faults that were found. */
export class Outside {
  readonly planted: Planted | undefined;
  readonly sent: Sent[] = [];
  readonly seen = new Set<string>();
  readonly runs = new Map<string, number>();
  readonly thrown = new Map<string, number>();
  readonly traces = new Map<string, readonly string[]>();
  /** Where each agent was hired, by its name. */
  readonly hires = new Map<string, Set<string>>();
  readonly faults: string[] = [];
  crashes = 0;
  /** How often somebody has decided that a tool in doubt is to be called again. */
  retries = 0;

  /** How often the run was retried after it had failed. */
  retried = 0;

  constructor(planted?: Planted) {
    this.planted = planted;
  }

  /** The agent has got the outcome of that call, so it is on record: it is never made again. */
  see(what: string): void {
    this.seen.add(what);
    for (const each of this.sent) if (each.what === what && each.isAnswered) each.isSeen = true;
  }

  /** The run is retried: the failure that an agent saw last, and what it saw since, may come otherwise now. */
  forgetFailures(): void {
    this.retried++;
    for (const [exec, trace] of this.traces) {
      const lastCall = trace.findLastIndex((text) => CALL.test(text) && !FAILURE.test(text));
      const failed = trace.findIndex((text, n) => n > lastCall && FAILURE.test(text));
      if (failed !== -1) this.traces.set(exec, trace.slice(0, failed));
    }
  }

  /** The process is gone. What nobody has seen may have been charged in full, or not at all. */
  lose(process: number): void {
    this.crashes++;
    for (const each of this.sent)
      if (each.process === process && !each.isSeen) Object.assign(each, { least: 0, most: MOST });
  }
}

/** One process, in which the run lives for a while. When it is dead, nothing that is still under way in it has an effect. */
export class House {
  readonly outside: Outside;
  readonly clock: VirtualClock;
  readonly number: number;
  isDead = false;
  /** A fault was injected into its journal, so that it may fail. */
  isBroken = false;
  /** Calls and timers of the test itself that have not ended. */
  open = 0;
  timers = 0;
  starts = 0;
  readonly trace = new Map<string, string[]>();
  readonly waiting = new Map<string, number>();
  readonly receiving = new Map<string, number>();
  act: ((deed: Deed) => void) | undefined;
  /** After how many calls the provider is down. */
  downAfter = Infinity;
  private deeds: readonly Deed[];
  private happened = 0;

  constructor(outside: Outside, clock: VirtualClock, number: number, deeds: readonly Deed[]) {
    this.outside = outside;
    this.clock = clock;
    this.number = number;
    this.deeds = deeds;
  }

  /** Something happens. Those who wait for this moment act. */
  tick(): void {
    if (this.isDead) return;
    const at = this.happened++;
    const due = this.deeds.filter((deed) => deed.at === at);
    this.deeds = this.deeds.filter((deed) => deed.at !== at);
    for (const deed of due) {
      const act = (): void => this.act?.(deed);
      if (deed.when === "now") act();
      else if (deed.when === "microtask") queueMicrotask(act);
      else setImmediate(act);
    }
  }

  note(exec: string, text: string): void {
    if (!this.isDead && !this.isBroken) this.trace.get(exec)?.push(text);
  }

  async sleep(ms: number): Promise<void> {
    this.timers++;
    await new Promise<void>((resolve) => this.clock.setTimer(resolve, ms));
    this.timers--;
    if (this.isDead) await NEVER;
  }

  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.isDead) await NEVER;
  }
}

export const NEVER = new Promise<never>(() => {});
const ODD: readonly unknown[] = [
  "text",
  undefined,
  null,
  42,
  { a: 1 },
  new TypeError("oops"),
  new Error("reset"),
];
const GARBLED: readonly unknown[] = [
  undefined,
  null,
  {},
  { message: {} },
  { message: { role: "assistant", content: "x" }, finishReason: "stop", usage: { inputTokens: NaN } },
  { message: { role: "assistant", content: 5 }, finishReason: "stop" },
  "hello",
];

function aborted(signal: AbortSignalLike | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted === true) reject(cancellationOf(signal));
    signal?.addEventListener("abort", () => reject(cancellationOf(signal)));
  });
}

/** For good, so that no layer tries again; or not, and then nobody knows whether it was paid for. */
function outage(refuse: () => void, odd: number): ProviderError {
  if (odd % 2 === 0) return new ProviderError({ kind: "SERVER_ERROR", message: "an outage" });
  refuse();
  return new ProviderError({ kind: "AUTH", message: "an outage", status: 401 });
}

/** A model that answers as planned, and keeps a book of what it was asked. */
export function modelOf(house: House, { way, odd, streams }: CallPlan, what: string): LLMClient {
  const { outside } = house;
  const answer = async (options: CallOptions | undefined, isStream: boolean): Promise<ModelResponse> => {
    if (house.isDead) return NEVER;
    if (outside.seen.has(what)) outside.faults.push(`sent again after it was seen: ${what}`);
    house.tick();
    const entry: Sent = {
      process: house.number,
      what,
      least: 0,
      most: MOST,
      isAnswered: false,
      isSeen: false,
    };
    const here = outside.sent.filter((each) => each.process === house.number);
    const tries = here.filter((each) => each.what === what).length;
    outside.sent.push(entry);
    const signal = options?.signal;
    const said = (outputTokens: number, isBilled = true): ModelResponse => {
      const extra = outside.planted === "a higher bill" ? 1 : 0;
      const cost = (isBilled ? INPUT + outputTokens : MOST) + extra;
      Object.assign(entry, { isAnswered: true, least: cost, most: cost });
      const message = { role: "assistant", content: `${way} ${what}` } as const;
      const usage = { inputTokens: INPUT, outputTokens };
      return { message, finishReason: "stop", ...(isBilled && { usage }) };
    };
    // In the middle of an answer it is no refusal, whatever its status: nobody knows whether it was paid for.
    const refuse = (): void => void (entry.most = isStream ? MOST : 0);
    house.open++;
    try {
      if (isStream || way === "answers") await house.turn();
      if (here.length >= house.downAfter) throw outage(refuse, odd);
      if (way === "slow") await Promise.race([house.sleep(3_000), aborted(signal)]);
      if (way === "hangs") return await aborted(signal);
      if (way === "deaf") return await NEVER;
      if (way === "throws") throw ODD[odd];
      if (way === "garbled") return GARBLED[odd] as ModelResponse;
      if (way === "cut") throw new TypeError("fetch failed", { cause: new Error("socket") });
      if (way === "refuses") {
        refuse();
        throw new ProviderError({ kind: "FORMAT_ERROR", message: "no", status: 400 });
      }
      if (way === "busy" && tries === 0) {
        refuse();
        throw new ProviderError({ kind: "RATE_LIMIT", message: "busy", retryAfterMs: 500 });
      }
      if (way === "down" && tries < 2) throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
      return said(way === "costly" ? OUTPUT : 5 + odd, way !== "unbilled");
    } finally {
      house.open--;
      house.tick();
      if (signal?.aborted === true) entry.most = MOST;
    }
  };
  async function* stream(_: ModelRequest, options?: CallOptions): AsyncGenerator<ModelEvent> {
    yield { type: "text", delta: "a" };
    yield { type: "finish", response: await answer(options, true) };
  }
  const info = { provider: "p", model: "m" };
  const client: LLMClient = { id: "m", info, generate: (_, options) => answer(options, false) };
  return streams ? { ...client, stream } : client;
}

/** A tool that does as planned. */
export function toolOf(house: House, plan: ToolPlan, what: string): Tool {
  const { outside } = house;
  const work = async ({ signal, llm }: ToolContext): Promise<unknown> => {
    const ask = async (n: number): Promise<unknown> => {
      const own = `${what}|${n}`;
      return (await llm(modelOf(house, plan.call, own), { messages: [{ role: "user", content: own }] }))
        .message;
    };
    if (plan.way === "slow") await Promise.race([house.sleep(5_000), aborted(signal)]);
    if (plan.way === "throws") throw new Error("broken");
    if (plan.way === "odd") throw ODD[plan.call.odd];
    if (plan.way === "hangs") return aborted(signal);
    if (plan.way === "deaf") return NEVER;
    if (plan.way === "asks") return ask(0);
    if (plan.way === "asksTwice")
      return (await Promise.allSettled([ask(0), ask(1)])).map(({ status }) => status);
    if (plan.way === "map") return { inside: new Map([[1, 2]]) };
    return plan.way === "nothing" ? undefined : what;
  };
  return defineTool({
    name: "tool",
    description: "",
    input: z.object({ n: z.number() }),
    idempotent: plan.idempotent,
    needsApproval: plan.needsApproval,
    timeoutS: plan.timeoutS,
    execute: (_, context) => {
      if (house.isDead) return NEVER;
      const times = (outside.runs.get(what) ?? 0) + 1;
      outside.runs.set(what, times);
      if (outside.seen.has(what)) outside.faults.push(`run again after its result was seen: ${what}`);
      if (!plan.idempotent && times > 1 + outside.retries) outside.faults.push(`run ${times} times: ${what}`);
      house.tick();
      context.progress?.("begun");
      if (plan.way === "value") return what;
      house.open++;
      return work(context).finally(() => house.open--);
    },
  });
}
