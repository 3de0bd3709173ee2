import {
  type ChatMessage,
  HookEvent,
  InvalidValueError,
  isRaviError,
  type RunContext,
  type ToolSpec,
} from "@ravi/kernel";
import { abortable, hookBase } from "@ravi/kernel/loop";
import type { CompactionReason, Emit } from "../extensions/events.ts";
import type { CompactionOutcome } from "../extensions/extension.ts";
import { isMessages } from "../extensions/results.ts";
import { itemsOf } from "../tree/expand.ts";
import type { Session } from "../tree/session.ts";
import { validPrompt } from "../tree/valid-prompt.ts";
import { type CompactionPlan, thresholdOf } from "./options.ts";
import { type ContextMeter, estimateMessages, estimateTools } from "./tokens.ts";

export interface CompactionJob {
  readonly ctx: RunContext;
  readonly session: Session;
  readonly emit: Emit;
  readonly plan: CompactionPlan;
  readonly meter: ContextMeter;
  readonly reason: CompactionReason;
  readonly window: number | null;
  readonly system: string;
  readonly tools: readonly ToolSpec[] | undefined;
  /** The id of its entry, if it comes after a turn. */
  readonly entryId?: string | undefined;
  /** Called when a model is asked, or when an extension gives the messages: it may have asked one. */
  readonly onCost?: (() => void) | undefined;
}

/**
 * Shortens what the model sees. The session keeps all messages; a new entry says what the model sees from now on. If the result
 * is not smaller, nothing is written.
 */
export async function compact(job: CompactionJob): Promise<CompactionOutcome> {
  const { ctx, session, emit, plan, meter, reason, entryId: id } = job;
  const messages = await session.messages();
  const asked = { messages, reason, tokens: meter.tokens };
  const event = await emit("session_before_compact", asked);
  if (event.cancel === true) return { status: "cancelled" };
  const isReplaced = event.messages !== messages;
  if (!isReplaced && plan.strategy === undefined) {
    if (reason !== "asked") return { status: "nothingToDo" };
    const expected = "a compaction strategy, such as Summarization of @ravi/context";
    throw new InvalidValueError({ field: "SessionAgent.compaction", value: undefined, expected });
  }
  if (isReplaced) job.onCost?.();
  const fixedTokens = estimateMessages([{ role: "system", content: job.system }]) + estimateTools(job.tools);
  const messageTokens = estimateMessages(messages);
  const compacted = isReplaced
    ? event.messages
    : await runStrategy(job, messages, { fixedTokens, messageTokens });
  if (compacted === messages) return { status: "nothingToDo" };
  const shorter = validPrompt(compacted);
  // In the middle of a turn the model has yet to answer, so the last message must be one that it can answer.
  if (reason === "overflow" && !isOpenEnded(shorter)) return { status: "noSmaller" };
  const before = fixedTokens + messageTokens;
  const after = fixedTokens + estimateMessages(shorter);
  if (after >= before) return { status: "noSmaller" };
  // In a replay a strategy gets what it got then, because its calls are on record. The next turn makes a compaction of everything.
  if (id !== undefined && session.wouldHide(id)) return { status: "nothingToDo" };
  const strategy = isReplaced ? "extension" : (plan.strategy?.name ?? "compaction");
  const items = itemsOf(shorter, (message) => session.idOf(message), session.path());
  const entryId = await session.append({ kind: "compaction", strategy, items, before, after }, id);
  meter.reset(after);
  const { hooks } = ctx;
  if (hooks.has(HookEvent.COMPACTION)) {
    const counts = { strategy, before: messages.length, after: shorter.length };
    void hooks.dispatch(HookEvent.COMPACTION, { ...hookBase(ctx), ...counts });
  }
  await emit("session_compact", { entryId, strategy, before, after });
  return { status: "compacted", entryId, before, after };
}

async function runStrategy(
  job: CompactionJob,
  messages: readonly ChatMessage[],
  sizes: Sizes,
): Promise<readonly ChatMessage[]> {
  const { ctx, plan, system, tools } = job;
  const contextWindow = targetWindow(job, sizes);
  let given: readonly ChatMessage[];
  try {
    const compacted = plan.strategy?.compact(messages, {
      contextWindow,
      system,
      tools,
      llm(model, request) {
        job.onCost?.();
        return ctx.llm(model, request, { quiet: true });
      },
    });
    given = (await abortable(compacted, ctx.signal)) ?? messages;
  } catch (error) {
    // It does not fit into what was only wished for, and there is room for it as it is.
    if (job.reason === "asked" && contextWindow < roomOf(job) && isTooLong(error)) return messages;
    throw error;
  }
  if (isMessages(given)) return given;
  const field = `compaction strategy ${plan.strategy?.name ?? ""}`.trimEnd();
  throw new InvalidValueError({
    field,
    value: given,
    expected: "an array of messages as the result of compact()",
  });
}

/** Whether a strategy says that it cannot make it short enough. What a provider says of a request can be tried again. */
function isTooLong(error: unknown): boolean {
  return isRaviError(error, "PROVIDER_ERROR") && error.kind === "CONTEXT_OVERFLOW" && !error.retryable;
}

function isOpenEnded(messages: readonly ChatMessage[]): boolean {
  const role = messages.at(-1)?.role;
  return role === "user" || role === "tool";
}

/** In estimated tokens. */
interface Sizes {
  /** The system prompt and the tools, which compaction cannot shorten. */
  readonly fixedTokens: number;
  /** The messages. */
  readonly messageTokens: number;
}

/** Strategies fill only this part of the window they are told, and leave a fifth for the answer. */
const SHARE = 0.8;

/**
 * The window that the strategy is told to fit into. After an overflow the real window is smaller than believed, and a user who
 * asks for a compaction wants it shorter than it is: both get room for half of the messages, beside what cannot be shortened.
 */
function targetWindow(job: CompactionJob, { fixedTokens, messageTokens }: Sizes): number {
  const room = roomOf(job);
  return job.reason === "threshold"
    ? room
    : Math.min(room, Math.ceil((fixedTokens + messageTokens / 2) / SHARE));
}

function roomOf({ window, plan }: CompactionJob): number {
  return window === null ? Infinity : Math.max(1, thresholdOf(window, plan.reserveTokens));
}
