import { type AbortSignalLike, checkFields, checkInteger, type Clock, InvalidValueError } from "@ravi/kernel";
import { DEFAULT_CHUNK_SIZE } from "../answers/deltas.ts";
import { type CompiledScript, compileScript, type Script } from "../answers/script.ts";
import { type TimerClock, withTimers } from "../time.ts";
import type { Bill } from "./bill.ts";
import { checkPrices, type Prices } from "./price.ts";
import type { Protocol } from "./protocol.ts";
import type { LoopbackCall, LoopbackRequest } from "./request.ts";

export interface LoopbackOptions {
  readonly script: Script<LoopbackCall>;
  /** Where the bill is kept, a line of JSON for each charge. One that is there already is continued. In memory, unless given. */
  readonly billFile?: string | undefined;
  /** Dollars per million tokens: input 0.25, output 2. */
  readonly prices?: Prices | ((model: string) => Prices) | undefined;
  /** `true`: any key will do, but there must be one. A string: exactly that one. */
  readonly requireKey?: boolean | string | undefined;
  /** The models there are; others get 404. Unless given, any name will do. */
  readonly models?: readonly string[] | undefined;
  /** Refuse conversations in which a tool call and its result are not together, as OpenAI does: true. */
  readonly checkToolPairs?: boolean | undefined;
  /** 32 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** A free one, unless given. */
  readonly port?: number | undefined;
  /** Where delays and times come from; the real ones, unless given. */
  readonly clock?: Clock | undefined;
  /** Characters in a piece of a stream: 8. */
  readonly chunkSize?: number | undefined;
  /** `false` keeps no requests, for benchmarks. The bill is kept all the same. */
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

/** What the endpoints of one server share. */
export interface House {
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
  /** The number of the next call that reaches the script. */
  nextIndex(): number;
}

/** What can be found wrong before anything is opened. */
export function checkOptions(options: LoopbackOptions): void {
  checkFields("loopback options", options, OPTIONS);
  const { prices, requireKey } = options;
  if (prices !== undefined && typeof prices !== "function") checkPrices(prices);
  if (requireKey === "") {
    const expected = "true, or a key of at least one character";
    throw new InvalidValueError({ field: "requireKey", value: requireKey, expected });
  }
}

interface HouseSetup {
  readonly bill: Bill;
  readonly closing: AbortSignalLike;
  readonly protocol: Protocol;
}

export function makeHouse(options: LoopbackOptions, { bill, closing, protocol }: HouseSetup): House {
  const { requireKey = false, record = true } = options;
  const requests: LoopbackRequest[] = [];
  let index = 0;
  return {
    protocol,
    script: compileScript(options.script),
    bill,
    clock: withTimers(options.clock),
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
