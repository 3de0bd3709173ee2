import { errorToJSON, type HookEvent, type Logger } from "@ravi/kernel";
import { quietly } from "@ravi/kernel/loop";
import type { HookProblem, HookProblemKind } from "../types.ts";

export interface ProblemSinks {
  readonly logger?: Logger | undefined;
  readonly onError?: ((problem: HookProblem) => unknown) | undefined;
}

interface Incident {
  readonly kind: HookProblemKind;
  readonly event: HookEvent;
  readonly callback?: object | undefined;
  /** What happened; in the message it follows the listener's name. */
  readonly what: string;
  readonly thrown?: { readonly error: unknown } | undefined;
  readonly runId?: string | undefined;
}

/** Reports problems of observers. Reporting never throws, whatever the logger and the handler do. */
export class ProblemReporter {
  /** True while a problem is reported. Dispatches are ignored meanwhile, or a handler that dispatches could loop for ever. */
  isReporting = false;
  private readonly sinks: ProblemSinks;
  private readonly printed = new WeakSet<object>();

  constructor(sinks: ProblemSinks) {
    this.sinks = sinks;
  }

  /** Reports what a listener threw, or rejected with. */
  failed(event: HookEvent, callback: object, error: unknown, runId: string | undefined): void {
    this.report({ kind: "failed", event, callback, what: "failed", thrown: { error }, runId });
  }

  report(incident: Incident): void {
    const { logger = this.consoleFor(incident), onError } = this.sinks;
    if (this.isReporting || (logger === undefined && onError === undefined)) return;
    this.isReporting = true;
    try {
      const problem = describe(incident);
      if (logger !== undefined) quietly(() => log(logger, problem));
      if (onError !== undefined) quietly(() => onError(problem));
    } finally {
      this.isReporting = false;
    }
  }

  /**
   * The console, if there is no logger and no `onError`: a broken observer must not go unnoticed. Once per listener, to not flood
   * the screen.
   */
  private consoleFor({ callback }: Incident): ErrorLogger | undefined {
    if (this.sinks.onError !== undefined) return undefined;
    if (callback === undefined) return console;
    if (this.printed.has(callback)) return undefined;
    this.printed.add(callback);
    return console;
  }
}

type ErrorLogger = Pick<Logger, "error" | "warn">;

function describe({ kind, event, callback, what, thrown, runId }: Incident): HookProblem {
  const listener = callback === undefined ? "" : nameOf(callback);
  const who = callback === undefined ? `hooks of ${event}` : `hook ${listener} of ${event}`;
  const message = thrown === undefined ? `${who} ${what}` : `${who} ${what}: ${textOf(thrown.error)}`;
  return Object.freeze({ kind, event, listener, message, ...(runId !== undefined && { runId }), ...thrown });
}

function log(logger: ErrorLogger, { kind, event, listener, message, runId }: HookProblem): unknown {
  const fields = { kind, event, listener, ...(runId !== undefined && { runId }) };
  return kind === "failed" ? logger.error(message, fields) : logger.warn(message, fields);
}

/** A callback may be a proxy, or have a `name` that throws. */
function nameOf(callback: object): string {
  try {
    const name: unknown = Reflect.get(callback, "name");
    if (typeof name === "string" && name !== "") return name;
  } catch {
    // It stays anonymous.
  }
  return "(anonymous)";
}

function textOf(error: unknown): string {
  try {
    if (typeof error === "function") return "a function was thrown";
    if (typeof error !== "object" || error === null) return clip(`${String(error)} was thrown`);
    const { name, message } = errorToJSON(error);
    return clip(`${name}: ${message}`);
  } catch {
    return "something was thrown that cannot be read";
  }
}

function clip(text: string): string {
  return text.length <= 500 ? text : `${text.slice(0, 497)}...`;
}
