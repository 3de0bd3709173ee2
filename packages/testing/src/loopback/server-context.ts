import {
  type AbortSignalLike,
  checkBoolean,
  checkFields,
  checkInteger,
  type Clock,
  InvalidValueError,
  systemClock,
} from "@ravi/kernel";
import { checkPort, withTimers, type TimerClock } from "@ravi/kernel/loop";
import { DEFAULT_CHUNK_SIZE } from "../answers/deltas.ts";
import { type CompiledScript, compileScript, type Script } from "../answers/script.ts";
import type { Bill } from "./bill.ts";
import { checkPrices, type Prices } from "./price.ts";
import type { Protocol } from "./protocol.ts";
import type { LoopbackCall, LoopbackRequest } from "./request.ts";

/** The options of `loopbackOpenAI` and `loopbackAnthropic`. Only `script` is required. */
export interface LoopbackOptions {
  readonly script: Script<LoopbackCall>;
  /** The file for the bill, with one line of JSON for each charge. An existing bill is continued. Default: in memory. */
  readonly billFile?: string | undefined;
  /** Dollars per million tokens, or a function of the model. Default: `{ input: 0.25, output: 2 }`. */
  readonly prices?: Prices | ((model: string) => Prices) | undefined;
  /** `true`: any key is accepted, but there must be one. A string: exactly that key. Otherwise 401. Default: false. */
  readonly requireKey?: boolean | string | undefined;
  /** The models that exist; others get a 404. Default: any name. */
  readonly models?: readonly string[] | undefined;
  /** Refuse conversations in which a tool call is not followed by its result, as the real servers do. Default: true. */
  readonly checkToolPairs?: boolean | undefined;
  /** A longer body gets a 413. Default: 32 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** The source of times and delays. Default: real time. */
  readonly clock?: Clock | undefined;
  /** The characters in each piece of a stream. Default: 8. */
  readonly chunkSize?: number | undefined;
  /** `false`: requests are not kept, for benchmarks; the bill still is. Default: true. */
  readonly record?: boolean | undefined;
}

const OPTIONS = [
  "script",
  "billFile",
  "prices",
  "requireKey",
  "models",
  "checkToolPairs",
  "maxBodyBytes",
  "port",
  "clock",
  "chunkSize",
  "record",
] as const satisfies readonly (keyof LoopbackOptions)[];

/** What all endpoints of one server share. */
export interface ServerContext {
  readonly protocol: Protocol;
  readonly script: CompiledScript<LoopbackCall>;
  readonly bill: Bill;
  readonly clock: TimerClock;
  readonly requireKey: boolean | string;
  readonly models: readonly string[] | undefined;
  readonly checkToolPairs: boolean;
  readonly maxBodyBytes: number;
  readonly chunkSize: number;
  readonly closing: AbortSignalLike;
  readonly requests: readonly LoopbackRequest[];
  note(request: LoopbackRequest): void;
  /** The number of the next call that reaches the script, from 0. */
  nextIndex(): number;
}

/** Checks what can be checked before anything is opened. */
export function checkOptions(options: LoopbackOptions): void {
  checkFields("loopback options", options, OPTIONS);
  const { prices, requireKey = false, models = [], clock = systemClock } = options;
  if (prices !== undefined && typeof prices !== "function") checkPrices(prices);
  if (requireKey === "" || (typeof requireKey !== "string" && typeof requireKey !== "boolean")) {
    const expected = "true, false, or a key that is not empty";
    throw new InvalidValueError({ field: "requireKey", value: requireKey, expected });
  }
  if (!Array.isArray(models) || !models.every((name) => typeof name === "string"))
    throw new InvalidValueError({ field: "models", value: models, expected: "a list of names" });
  checkPort("clock", clock, ["now"]);
  for (const name of ["checkToolPairs", "record"] as const) checkBoolean(name, options[name] ?? true);
}

interface ContextSetup {
  readonly bill: Bill;
  readonly closing: AbortSignalLike;
  readonly protocol: Protocol;
}

export function createContext(
  options: LoopbackOptions,
  { bill, closing, protocol }: ContextSetup,
): ServerContext {
  const { requireKey = false, record = true } = options;
  const requests: LoopbackRequest[] = [];
  let index = 0;
  return {
    protocol,
    script: compileScript(options.script),
    bill,
    clock: withTimers(options.clock ?? systemClock, globalThis),
    requireKey,
    models: options.models,
    checkToolPairs: options.checkToolPairs ?? true,
    maxBodyBytes: checkInteger("maxBodyBytes", options.maxBodyBytes ?? 32 * 1024 * 1024, 1),
    chunkSize: checkInteger("chunkSize", options.chunkSize ?? DEFAULT_CHUNK_SIZE, 1),
    closing,
    requests,
    note: (request) => {
      if (record) requests.push(request);
    },
    nextIndex: () => index++,
  };
}
