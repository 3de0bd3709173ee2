import {
  checkFields,
  checkInteger,
  checkOneOf,
  type HookEvent,
  type HookPayloads,
  type JsonObject,
  type Logger,
} from "@ravi/kernel";
import { checkPorts } from "@ravi/kernel/loop";
import { checkSource } from "./common/checks.ts";
import { Attachments } from "./common/attachments.ts";
import type { AnyHookCallback, HookSource } from "./types.ts";

/** An event that was logged. Comparing `event` narrows `payload`. */
export type RunLogEntry = {
  [E in HookEvent]: {
    readonly event: E;
    /** Epoch milliseconds, from the payload. */
    readonly at: number;
    readonly payload: HookPayloads[E];
  };
}[HookEvent];

export interface RunLoggerOptions {
  /** How many entries are kept; the oldest are dropped first. Default: 500. */
  readonly limit?: number | undefined;
  /** Also gets every entry, as one line. Default: none. */
  readonly logger?: Logger | undefined;
  /** The level of those lines. Default: `debug`. */
  readonly level?: keyof Logger | undefined;
}

const LEVELS = { debug: "debug", info: "info", warn: "warn", error: "error" } as const;

/** Keeps the latest events of the hooks that it is attached to. */
export class RunLogger {
  private readonly limit: number;
  private readonly logger: Logger | undefined;
  private readonly level: keyof Logger;
  private readonly attachments = new Attachments();
  /** A ring buffer: once it is full, it begins at `oldest`. */
  private ring: RunLogEntry[] = [];
  private oldest = 0;
  private overwritten = 0;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: RunLoggerOptions = {}) {
    checkFields("RunLogger options", options, ["limit", "logger", "level"]);
    checkPorts("RunLogger options", { logger: options.logger });
    this.limit = checkInteger("limit", options.limit ?? 500, 1);
    this.level = checkOneOf<keyof Logger>("level", options.level ?? "debug", LEVELS);
    this.logger = options.logger;
  }

  /**
   * Starts to listen. Returns a function that stops it; the entries stay. Attaching again to the same hooks replaces the first.
   */
  attachTo(hooks: HookSource): () => void {
    checkSource(hooks);
    // The function's name appears in problem reports.
    const runLogger: AnyHookCallback = (event, payload) =>
      this.attachments.isRepeated(hooks, payload)
        ? undefined
        : this.keep({ event, at: payload.at, payload } as RunLogEntry);
    return this.attachments.attach(hooks, () => [hooks.onAny(runLogger)]);
  }

  /** Stops listening everywhere; the entries stay. */
  detach(): void {
    this.attachments.detachAll();
  }

  /** The entries, oldest first. */
  entries(): readonly RunLogEntry[] {
    return [...this.ring.slice(this.oldest), ...this.ring.slice(0, this.oldest)];
  }

  /** How many entries were dropped since the start or the last `clear`. */
  get dropped(): number {
    return this.overwritten;
  }

  /** Removes all entries and resets `dropped`. */
  clear(): void {
    this.ring = [];
    this.oldest = 0;
    this.overwritten = 0;
  }

  private keep(entry: RunLogEntry): unknown {
    Object.freeze(entry);
    if (this.ring.length < this.limit) {
      this.ring.push(entry);
    } else {
      this.ring[this.oldest] = entry;
      this.oldest = (this.oldest + 1) % this.limit;
      this.overwritten++;
    }
    return this.logger?.[this.level](entry.event, fieldsOf(entry));
  }
}

function fieldsOf({ payload }: RunLogEntry): JsonObject {
  return { ...payload };
}
