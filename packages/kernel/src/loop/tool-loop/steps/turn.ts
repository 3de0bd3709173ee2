import type { HireLeaf, HireOutcome, ToolLeaf, ToolOutcome, ToolResult } from "../../../agent/leaves.ts";
import { agentName } from "../../../core/ids.ts";
import { isPromiseLike, type MaybePromise } from "../../../core/types.ts";
import type { RaviError } from "../../../errors/base.ts";
import { isRaviError } from "../../../errors/is.ts";
import { messageOf } from "../../../errors/message-of.ts";
import type { ToolCall, ToolMessage } from "../../../model/messages.ts";
import { type DelegateTool, type Tool, isDelegate } from "../../../model/tool.ts";
import { atOnceOf } from "../../at-once.ts";
import { hireBy } from "../../hire-by.ts";
import { hireResult } from "../../hire-result.ts";
import { isParsed, type Parsed } from "../../parse-with.ts";
import { isStop, readArguments } from "../../tool-call.ts";
import { failure, toMessage, toolResult, unknownTool } from "./tool-message.ts";
import type { Hired, ToolTurn, ToolTurnOptions, Tools, TurnContext } from "../../tool-turn.ts";

type TurnLeaf = ToolLeaf | HireLeaf;
type TurnOutcomes = readonly (ToolOutcome | HireOutcome)[];

// Most turns have one call, and the first push onto an empty list would allocate room for seventeen. So the first item creates
// the list. These two empty lists are never handed out.
const NO_LEAVES: TurnLeaf[] = [];
const NO_MESSAGES: (ToolMessage | undefined)[] = [];

/** One turn in progress: the calls to make, and the result of each. */
export class Turn {
  readonly calls: readonly ToolCall[];
  /** The tools and hires to run, in the order of the calls. */
  leaves: TurnLeaf[] = NO_LEAVES;
  hasHires = false;
  stop: RaviError | undefined;
  private readonly ctx: TurnContext;
  private readonly options: ToolTurnOptions;
  private readonly isAtOnce: boolean;
  /** The index of each leaf's call, once a call has no leaf; until then the indexes are the same. */
  private callAt: number[] | undefined;
  private messages: (ToolMessage | undefined)[] = NO_MESSAGES;
  /** The calls whose results the context has already reported early, so that they are not reported again. */
  private reported: Set<ToolCall> | undefined;

  constructor(ctx: TurnContext, calls: readonly ToolCall[], options: ToolTurnOptions, isAtOnce: boolean) {
    this.ctx = ctx;
    this.calls = calls;
    this.options = options;
    this.isAtOnce = isAtOnce;
  }

  refuseAll(why: string): ToolTurn {
    for (let at = 0; at < this.calls.length; at++) this.refuse(at, failure(this.callOf(at), why));
    return this.end();
  }

  /** Plans all calls from `first` on. Returns a promise only if one of them does. */
  planFrom(first: number, tools: Tools): MaybePromise<void> {
    for (let at = first; at < this.calls.length; at++) {
      const planned = this.plan(at, tools);
      if (isPromiseLike(planned)) return this.planAfter(planned, at + 1, tools);
    }
    return undefined;
  }

  // Not inlined into the loop: a closure there would make every iteration keep its variables.
  private planAfter(planned: PromiseLike<void>, next: number, tools: Tools): Promise<void> {
    return Promise.resolve(planned).then(() => this.planFrom(next, tools));
  }

  // Not asynchronous in the usual case of a single batch of tools: an async frame takes 1 kB a turn.
  make(): MaybePromise<ToolTurn> {
    const { leaves, options, hasHires } = this;
    const size = options.concurrency ?? leaves.length;
    if (hasHires || size < leaves.length) return this.makeInParts(size);
    if (leaves.length === 0) return this.end();
    const outcomes = this.batchOf(leaves);
    return areReady(outcomes) ? this.keepAll(0, outcomes, undefined).end() : this.endLater(outcomes);
  }

  /** A context in untyped JavaScript may throw synchronously, or return a thenable. */
  private batchOf(leaves: readonly TurnLeaf[]): MaybePromise<TurnOutcomes> {
    const { ctx } = this;
    try {
      const atOnce = this.isAtOnce ? atOnceOf(ctx) : undefined;
      return atOnce === undefined ? Promise.resolve(ctx.batch(leaves)) : atOnce(ctx, leaves);
    } catch (error) {
      return rejected(error);
    }
  }

  private endLater(outcomes: PromiseLike<TurnOutcomes>): Promise<ToolTurn> {
    return Promise.resolve(outcomes).then(
      (done) => this.keepAll(0, done, undefined).end(),
      (error: unknown) => this.stopBy(error).end(),
    );
  }

  private async makeInParts(size: number): Promise<ToolTurn> {
    const { leaves } = this;
    for (let from = 0; from < leaves.length && this.stop === undefined; from += size) {
      const part = size >= leaves.length ? leaves : leaves.slice(from, from + size);
      let outcomes: TurnOutcomes;
      try {
        outcomes = await this.ctx.batch(part);
      } catch (error) {
        this.stopBy(error);
        break;
      }
      const hireResults = this.hasHires ? await this.describeHires(from, part, outcomes) : undefined;
      this.keepAll(from, outcomes, hireResults);
    }
    return this.end();
  }

  /**
   * Ends the turn; the results of earlier batches are kept. If the run is only suspended, the error is thrown on, and the rest is
   * made when it is resumed.
   */
  private stopBy(error: unknown): this {
    if (!isStop(error) || isRaviError(error, "SUSPENDED")) throw error;
    this.stop = error as RaviError;
    return this;
  }

  private keepAll(
    from: number,
    outcomes: TurnOutcomes,
    told: readonly (ToolResult | undefined)[] | undefined,
  ): this {
    for (let at = 0; at < outcomes.length; at++) this.keep(from + at, outcomes[at], told?.[at]);
    return this;
  }

  /** Only a hand-off is prepared here; a tool's arguments are parsed when it is called. */
  private plan(at: number, tools: Tools): MaybePromise<void> {
    const call = this.callOf(at);
    const refused = this.options.before?.(call);
    if (refused !== undefined)
      return this.refuse(at, typeof refused === "string" ? failure(call, refused) : toMessage(call, refused));
    const tool = toolNamed(call.name, tools);
    if (tool === undefined) return this.refuse(at, unknownTool(call, tools));
    if (isDelegate(tool)) return this.planHire(at, call, tool);
    this.add(at, this.toolLeaf(call, tool));
  }

  /** What the model is told about each hire of a batch; undefined for other leaves. */
  private async describeHires(
    from: number,
    part: readonly TurnLeaf[],
    outcomes: TurnOutcomes,
  ): Promise<readonly (ToolResult | undefined)[]> {
    const hires: Hired[] = [];
    for (const [at, leaf] of part.entries()) {
      const outcome = outcomes[at];
      if (leaf.kind !== "hire" || outcome === undefined) continue;
      // It is a hire's outcome, because the outcomes of a batch are in the order of its leaves.
      const hired = outcome as HireOutcome;
      hires.push({ call: this.callOf(this.callIndexOf(from + at)), leaf, outcome: hired });
      if (hired.status === "denied") this.tellDenied(leaf, hired.error);
    }
    const { afterHires } = this.options;
    const told = afterHires === undefined || hires.length === 0 ? undefined : await afterHires(hires);
    let next = 0;
    return part.map((leaf) => {
      const hired = hires[next];
      if (hired?.leaf !== leaf) return undefined;
      const said = told?.[next];
      next++;
      return said ?? hireResult(hired.outcome, agentName(hired.leaf.agent.id));
    });
  }

  /** Whoever sets the limits learns here which one refused the hire. The model is told only what it can do about it. */
  private tellDenied({ agent }: HireLeaf, { message }: RaviError): void {
    this.ctx.emit?.({ type: "progress", name: "hireDenied", data: { to: agent.id, error: message } });
  }

  /** Stores the result of a leaf. */
  private keep(
    leafAt: number,
    outcome: ToolOutcome | HireOutcome | undefined,
    told: ToolResult | undefined,
  ): void {
    const leaf = this.leaves[leafAt];
    if (leaf === undefined || outcome === undefined) return;
    const at = this.callIndexOf(leafAt);
    const call = this.callOf(at);
    const message = toMessage(call, told ?? toolResult(outcome as ToolOutcome));
    this.put(at, message);
    // The model has to deal with what happened to a child. But a tool that was stopped by a rule of this run ends the run.
    const isStopped = leaf.kind === "tool" && "error" in outcome && isStop(outcome.error);
    if (isStopped) this.stop ??= outcome.error;
    else this.report(call, message);
  }

  end(): ToolTurn {
    for (let at = 0; at < this.calls.length; at++)
      if (this.messages[at] === undefined)
        this.put(at, failure(this.callOf(at), "not run: the run is ending"));
    const messages = this.messages === NO_MESSAGES ? [] : this.messages;
    return { messages: messages as readonly ToolMessage[], stop: this.stop };
  }

  private put(at: number, message: ToolMessage): void {
    if (this.messages === NO_MESSAGES) this.messages = at === 0 ? [message] : [];
    this.messages[at] = message;
  }

  private add(at: number, leaf: TurnLeaf): void {
    if (this.leaves === NO_LEAVES) this.leaves = [leaf];
    else this.leaves.push(leaf);
    this.callAt?.push(at);
  }

  private refuse(at: number, message: ToolMessage): void {
    this.callAt ??= Array.from(this.leaves.keys());
    this.put(at, message);
    this.report(this.callOf(at), message);
  }

  private toolLeaf(call: ToolCall, tool: Tool): ToolLeaf {
    const { validator, onResult } = this.options;
    if (onResult === undefined)
      return validator === undefined ? { kind: "tool", call, tool } : { kind: "tool", call, tool, validator };
    const report = (result: ToolResult): void => this.report(call, toMessage(call, result));
    return { kind: "tool", call, tool, validator, onResult: report };
  }

  private planHire(at: number, call: ToolCall, tool: DelegateTool): MaybePromise<void> {
    const parsed = readArguments(call, tool, this.options.validator ?? this.ctx.validator);
    return isParsed(parsed)
      ? this.addHire(at, call, tool, parsed)
      : parsed.then((read) => this.addHire(at, call, tool, read));
  }

  private addHire(at: number, call: ToolCall, tool: DelegateTool, parsed: Parsed<unknown>): void {
    if (!parsed.ok) return this.refuse(at, failure(call, parsed.problem));
    let leaf: HireLeaf;
    try {
      leaf = hireBy(tool, parsed.value, this.options.attachments);
    } catch (error) {
      return this.refuse(at, failure(call, messageOf(error)));
    }
    this.options.onHire?.(call, leaf);
    this.hasHires = true;
    this.add(at, leaf);
  }

  private report(call: ToolCall, message: ToolMessage): void {
    const { onResult } = this.options;
    if (onResult === undefined) return;
    const reported = (this.reported ??= new Set());
    if (reported.has(call)) return;
    reported.add(call);
    onResult(call, message);
  }

  private callOf(at: number): ToolCall {
    const call = this.calls[at];
    if (call === undefined) throw new RangeError(`the turn has no call ${at}`);
    return call;
  }

  private callIndexOf(leafAt: number): number {
    return this.callAt === undefined ? leafAt : (this.callAt[leafAt] ?? -1);
  }
}

/** Not `isPromiseLike`: it sees objects of so many shapes that each lookup of `then` takes 13 ns. */
function areReady(outcomes: MaybePromise<TurnOutcomes>): outcomes is TurnOutcomes {
  return Array.isArray(outcomes);
}

function toolNamed(wanted: string, tools: Tools): Tool | DelegateTool | undefined {
  // By index: in a `for of`, each item of a list that its user has frozen would leave compiled code.
  for (let at = 0; at < tools.length; at++) if (tools[at]?.name === wanted) return tools[at];
  return undefined;
}

export async function rejected(error: unknown): Promise<never> {
  throw error;
}
