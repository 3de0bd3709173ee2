import type { AgentResult } from "../../../agent/agent.ts";
import type { HireLeaf, ToolResult } from "../../../agent/leaves.ts";
import type { RunContext } from "../../../agent/run-context.ts";
import type { RaviError } from "../../../errors/base.ts";
import type { ToolCall, ToolMessage } from "../../../model/messages.ts";
import { CallWatch, type LoopVerdict } from "../../loop-detection.ts";
import { shorten, withNote } from "../../tool-content.ts";
import type { ToolTurn, ToolTurnOptions } from "../../tool-turn.ts";
import type { LoopExtension } from "../extension.ts";
import type { LoopPlan } from "../plan.ts";
import { tellHandoff } from "../tell.ts";

const FINISHED: ToolResult = Object.freeze({
  content: "done: the run ends with this answer",
  isError: false,
});

export interface ToolStep {
  /** One for each call, in the order of the calls. */
  readonly messages: readonly ToolMessage[];
  readonly stop: RaviError | undefined;
  /** Whether the model keeps repeating itself after it was warned. */
  readonly isLooping: boolean;
}

/**
 * What the loop adds to the turns of one run: it blocks calls that failed or repeated too often, calls the extension, and
 * shortens results. The object itself is passed as the options of a turn, because closures would be kept as long as the run.
 */
export class ToolSteps<T> implements ToolTurnOptions {
  readonly concurrency: number | undefined;
  readonly validator: ToolTurnOptions["validator"];
  readonly afterHires: ToolTurnOptions["afterHires"];
  readonly onResult: ToolTurnOptions["onResult"];
  readonly attachments: ToolTurnOptions["attachments"];
  /** The result that a call has ended the run with. */
  finished: AgentResult<T> | undefined;
  private readonly plan: LoopPlan<T>;
  private readonly ctx: RunContext;
  private readonly extension: LoopExtension<T>;
  private readonly detector: CallWatch | undefined;
  /** Calls of this turn that the loop detection has blocked. */
  private blocked: Set<ToolCall> | undefined;

  constructor(
    plan: LoopPlan<T>,
    ctx: RunContext,
    extension: LoopExtension<T>,
    attachments: ToolTurnOptions["attachments"],
  ) {
    const { afterHires, onResult } = extension;
    const { maxToolResultChars: maxChars } = plan;
    this.plan = plan;
    this.ctx = ctx;
    this.extension = extension;
    this.concurrency = plan.toolConcurrency;
    this.validator = plan.validator;
    this.afterHires = afterHires;
    this.attachments = attachments;
    this.onResult = onResult && ((call, message) => onResult(call, readable(message, maxChars)));
    this.detector = plan.loopDetection === false ? undefined : new CallWatch(plan.loopDetection);
  }

  before(call: ToolCall): string | ToolResult | undefined {
    const { detector, extension } = this;
    const refused = detector === undefined ? undefined : this.block(detector, call);
    if (refused !== undefined) return refused;
    const verdict = extension.before?.(call);
    if (typeof verdict !== "object" || !("finish" in verdict)) return verdict;
    this.finished ??= verdict.finish;
    return FINISHED;
  }

  onHire(call: ToolCall, leaf: HireLeaf): void {
    tellHandoff(this.ctx, leaf, this.plan.clock);
    this.extension.onHire?.(call, leaf);
  }

  /** The results as the model gets them. Calls of an answer that was cut off were not made, so they do not count as failed. */
  read(calls: readonly ToolCall[], { messages, stop }: ToolTurn, isCutOff: boolean): ToolStep {
    const { detector, blocked } = this;
    this.blocked = undefined;
    const told = allReadable(messages, this.plan.maxToolResultChars);
    // It gets what the model reads: it keeps results, and would keep large ones whole.
    const judged = isCutOff ? undefined : detector?.afterTurn(calls, told, blocked);
    return {
      messages: judged === undefined ? told : told.map((message, at) => warned(message, judged[at])),
      stop,
      isLooping: judged?.some(({ action }) => action === "halt") === true,
    };
  }

  private block(detector: CallWatch, call: ToolCall): string | undefined {
    const verdict = detector.before(call);
    if (verdict.action !== "block") return undefined;
    (this.blocked ??= new Set()).add(call);
    return verdict.reason;
  }
}

/** Returns the same list if nothing changes. */
function allReadable(messages: readonly ToolMessage[], maxChars: number): readonly ToolMessage[] {
  let changed: ToolMessage[] | undefined;
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined) continue;
    const made = readable(message, maxChars);
    if (made !== message) (changed ??= [...messages])[at] = made;
  }
  return changed ?? messages;
}

function readable(message: ToolMessage, maxChars: number): ToolMessage {
  const content = shorten(message.content, maxChars);
  return content === message.content ? message : { ...message, content };
}

function warned(message: ToolMessage, verdict: LoopVerdict | undefined): ToolMessage {
  if (verdict === undefined || verdict.action === "allow") return message;
  return { ...message, content: withNote(message.content, `\n[warning: ${verdict.reason}]`) };
}
