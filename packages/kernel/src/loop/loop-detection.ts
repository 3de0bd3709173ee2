import { checkFields, checkInteger } from "../core/check.ts";
import { sameValue } from "../core/json.ts";
import type { ToolCall, ToolMessage } from "../model/messages.ts";
import { KnownCalls } from "./tool-loop/steps/known-calls.ts";

/** How often something may repeat. `warn` tells the model, `block` refuses the call, `halt` ends the loop. */
export interface LoopLimits {
  /** Exactly the same call fails. */
  readonly sameCall: { readonly warn: number; readonly block: number };
  /** The same tool fails, with any arguments. A successful call of it resets the count. */
  readonly sameTool: { readonly warn: number; readonly halt: number };
  /** The same call succeeds, with the same result as before. */
  readonly noProgress: { readonly warn: number; readonly block: number };
}

/** Limits that are left out have the defaults of `LOOP_LIMITS`. */
export type LoopLimitsOptions = {
  readonly [Rule in keyof LoopLimits]?:
    | { readonly [Level in keyof LoopLimits[Rule]]?: number | undefined }
    | undefined;
};

/** The default limits. */
export const LOOP_LIMITS: LoopLimits = Object.freeze({
  sameCall: Object.freeze({ warn: 2, block: 5 }),
  sameTool: Object.freeze({ warn: 3, halt: 8 }),
  noProgress: Object.freeze({ warn: 2, block: 5 }),
});

/** `reason` is written for the model. */
export type LoopVerdict =
  | { readonly action: "allow" }
  | { readonly action: "warn" | "block" | "halt"; readonly reason: string };

/** A call and its result. */
export interface LoopStep {
  readonly call: ToolCall;
  readonly content: ToolMessage["content"];
  readonly isError: boolean;
  /** True if the call was not made because `before` blocked it. */
  readonly blocked?: boolean | undefined;
}

/**
 * Detects a model that repeats itself. It decides from calls and results only, so a replay decides the same. A model learns from
 * its results only between turns, so the calls of one turn count once. Whatever is counted starts anew once another call has returned
 * something new: tests that fail after each of ten edits, or a status that is asked for between them, are no loop.
 */
export interface LoopDetector {
  /** Whether a call may be made. */
  before(call: ToolCall): LoopVerdict;
  /** The verdict on each call of a turn, in the order given. */
  after(turn: readonly LoopStep[]): LoopVerdict[];
}

/** Makes a detector for one run. Call `before` for each call, and `after` once for each turn. */
export function loopDetector(options?: LoopLimitsOptions): LoopDetector {
  return new CallWatch(options);
}

interface ToolRecord {
  readonly name: string;
  failures: number;
  failedIn: number;
  succeededIn: number;
  /** The number of news when it last failed. */
  news: number;
  /** Whether any call of this tool has reached a limit for blocking. Until then no call has to be looked up before it is made. */
  mayBlock: boolean;
  readonly calls: KnownCalls;
}

const NONE: ToolRecord[] = [];
/** Up to so many tools are searched one by one. */
const FEW = 64;
const ALLOW: LoopVerdict = Object.freeze({ action: "allow" });
const NO_RESULT = Object.freeze({ content: "", isError: false });

export class CallWatch implements LoopDetector {
  private readonly limits: LoopLimits;
  /** A list, because a model has few tools, and a map takes 240 bytes for each run in flight. */
  private tools: ToolRecord[] = NONE;
  /** The same by name, once there are many: a model may call a hundred thousand that do not exist. */
  private index: Map<string, ToolRecord> | undefined;
  private turn = 0;
  /** How many successful calls have returned what they had not returned before. */
  private news = 0;
  /** The same, up to the turn before this one: what the model knew when it made the calls of this turn. */
  private known = 0;

  constructor(options: LoopLimitsOptions = {}) {
    this.limits = checkLimits(options);
  }

  before(call: ToolCall): LoopVerdict {
    const tool = this.find(call.name);
    const record = tool?.mayBlock === true ? tool.calls.get(call.arguments) : undefined;
    if (record === undefined || record.news !== this.news) return ALLOW;
    const { sameCall, noProgress } = this.limits;
    if (record.failures >= sameCall.block) {
      const reason = `this same call has failed ${record.failures} times and was not made again; change its arguments or try something else`;
      return { action: "block", reason };
    }
    if (record.repeats >= noProgress.block) {
      const reason = `this same call has returned the same result ${record.repeats} times and was not made again; use that result or try something else`;
      return { action: "block", reason };
    }
    return ALLOW;
  }

  after(turn: readonly LoopStep[]): LoopVerdict[] {
    this.beginTurn();
    for (const { call, content, isError, blocked } of turn) this.count(call, content, isError, blocked);
    return turn.map(({ call, isError, blocked }) => this.judge(call, isError, blocked));
  }

  /**
   * Like `after`, for the results of a turn; undefined if there is nothing to say. Then it allocates nothing, while steps would
   * take 0.5 kB.
   */
  afterTurn(
    calls: readonly ToolCall[],
    results: readonly ToolMessage[],
    blocked: ReadonlySet<ToolCall> | undefined,
  ): readonly LoopVerdict[] | undefined {
    this.beginTurn();
    let isRemarkable = false;
    // There is one result for each call, whatever happened.
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at];
      if (call === undefined) continue;
      const { content, isError } = results[at] ?? NO_RESULT;
      if (this.count(call, content, isError, blocked?.has(call))) isRemarkable = true;
    }
    if (!isRemarkable) return undefined;
    return calls.map((call, at) => this.judge(call, results[at]?.isError, blocked?.has(call)));
  }

  private beginTurn(): void {
    this.turn++;
    this.known = this.news;
  }

  /** Counts a call. Returns whether there may be something to say about it. */
  private count(
    call: ToolCall,
    content: ToolMessage["content"],
    isError: boolean | undefined,
    blocked: boolean | undefined,
  ): boolean {
    const tool = this.toolOf(call.name);
    this.countTool(tool, isError === true);
    // A refused call says nothing new about the call.
    if (blocked === true) return true;
    const record = tool.calls.getOrAdd(call.arguments);
    const isFirst = record.turn !== this.turn;
    if (isFirst) {
      record.turn = this.turn;
      if (record.news !== this.known) record.failures = record.repeats = 0;
      record.news = this.known;
    }
    if (isError === true) {
      if (isFirst) record.failures++;
      record.repeats = 0;
      record.content = undefined;
      if (record.failures >= this.limits.sameCall.block) tool.mayBlock = true;
      return true;
    }
    record.failures = 0;
    if (record.content === undefined || !sameValue(record.content, content)) {
      record.content = content;
      record.repeats = 1;
      // Its own news is no reason to count it anew.
      record.news = this.known + 1;
      this.news++;
    } else if (isFirst) {
      record.repeats++;
    }
    if (record.repeats >= this.limits.noProgress.block) tool.mayBlock = true;
    return record.repeats >= this.limits.noProgress.warn;
  }

  /** A turn counts as one failure of the tool, if no call of it succeeded. */
  private countTool(tool: ToolRecord, isError: boolean): void {
    if (!isError) {
      tool.succeededIn = this.turn;
      tool.failures = 0;
    } else if (tool.failedIn !== this.turn && tool.succeededIn !== this.turn) {
      tool.failedIn = this.turn;
      if (tool.news !== this.known) tool.failures = 0;
      tool.news = this.known;
      tool.failures++;
    }
  }

  private judge(call: ToolCall, isError = false, blocked = false): LoopVerdict {
    const { sameCall, sameTool, noProgress } = this.limits;
    const tool = this.toolOf(call.name);
    if (isError && tool.failures >= sameTool.halt) {
      return { action: "halt", reason: `${call.name} has failed ${tool.failures} times in a row` };
    }
    const record = tool.calls.get(call.arguments);
    if (record === undefined || blocked) return ALLOW;
    if (isError && record.failures >= sameCall.warn) {
      const reason = `this same call has failed ${record.failures} times; change its arguments or try something else`;
      return { action: "warn", reason };
    }
    if (isError && tool.failures >= sameTool.warn) {
      const reason = `${call.name} has failed ${tool.failures} times in a row; find out why before you call it again`;
      return { action: "warn", reason };
    }
    if (!isError && record.repeats >= noProgress.warn) {
      const reason = `this same call has returned the same result ${record.repeats} times; calling it again will not help`;
      return { action: "warn", reason };
    }
    return ALLOW;
  }

  private toolOf(name: string): ToolRecord {
    let tool = this.find(name);
    if (tool === undefined) {
      tool = {
        name,
        failures: 0,
        failedIn: 0,
        succeededIn: 0,
        news: 0,
        mayBlock: false,
        calls: new KnownCalls(),
      };
      // The first push onto an empty list would allocate room for seventeen.
      if (this.tools === NONE) this.tools = [tool];
      else this.tools.push(tool);
      if (this.index === undefined && this.tools.length > FEW)
        this.index = new Map(this.tools.map((each) => [each.name, each]));
      else this.index?.set(name, tool);
    }
    return tool;
  }

  private find(name: string): ToolRecord | undefined {
    if (this.index !== undefined) return this.index.get(name);
    for (const tool of this.tools) if (tool.name === name) return tool;
    return undefined;
  }
}

function checkLimits(options: LoopLimitsOptions): LoopLimits {
  if (Object.keys(options).length === 0) return LOOP_LIMITS;
  checkFields("loopDetection", options, Object.keys(LOOP_LIMITS));
  const rule = <R extends keyof LoopLimits>(name: R): LoopLimits[R] => {
    const defaults = LOOP_LIMITS[name];
    const { [name]: chosen = {} } = options;
    const given = checkFields(`loopDetection.${name}`, chosen, Object.keys(defaults));
    const levels = Object.entries(defaults).map(([level, otherwise]) => {
      return [level, checkInteger(`loopDetection.${name}.${level}`, given[level] ?? otherwise, 1)];
    });
    return Object.fromEntries(levels) as LoopLimits[R];
  };
  return { sameCall: rule("sameCall"), sameTool: rule("sameTool"), noProgress: rule("noProgress") };
}
