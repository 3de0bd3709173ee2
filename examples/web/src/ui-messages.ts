import type { JsonValue, RunEvent } from "@ravi/sdk";
import { nameIn } from "./turn.ts";

/** The chunks of the AI SDK's "UI message stream" that are sent here. `useChat` builds a message from them. */
export type UiPart =
  | { readonly type: "start"; readonly messageId: string }
  | { readonly type: "start-step" | "finish-step" }
  | { readonly type: "text-start" | "reasoning-start" | "text-end" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
    }
  | {
      readonly type: "tool-input-error";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
      readonly errorText: string;
    }
  | { readonly type: "tool-approval-request"; readonly approvalId: string; readonly toolCallId: string }
  | { readonly type: "tool-output-available"; readonly toolCallId: string; readonly output: unknown }
  | { readonly type: "tool-output-error"; readonly toolCallId: string; readonly errorText: string }
  | {
      readonly type: "data-progress" | "data-restarted";
      readonly data: JsonValue;
      readonly transient?: boolean;
    }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "finish"; readonly messageMetadata?: { readonly status: string } };

/**
 * Turns the events of one run into the parts of one assistant message:
 *
 * - Text and reasoning of the root agent, each piece as it comes. What helpers write is not shown.
 * - Tool calls of all agents. Their arguments come at once, when they are complete. An id that a model uses twice gets a number.
 * - A question about a call, as `tool-approval-request`: its `approvalId` is the name to answer under. A denial is a result that is an
 *   error, as the model sees it.
 * - `data-restarted` if an answer broke off and comes again: the text of that `id` does not count. Other progress as `data-progress`, which
 *   is not kept in the message.
 * - At the end `finish`, after `error` or `abort` if it failed or was cancelled. A run that is suspended has no end yet.
 */
export class UiMessage {
  private readonly runId: string;
  private readonly needsApproval: ReadonlySet<string>;
  private readonly toolCallIds = new Map<string, string>();
  private readonly usedIds = new Set<string>();
  /** Calls that will be asked about, and those that were and have no result yet. */
  private readonly toAsk = new Set<string>();
  private readonly asked = new Set<string>();
  private open: { readonly kind: "text" | "reasoning"; readonly id: string } | undefined;
  private texts = 0;
  private isInStep = false;
  private hasText = false;

  constructor(runId: string, needsApproval: ReadonlySet<string>) {
    this.runId = runId;
    this.needsApproval = needsApproval;
  }

  /**
   * Whether the run waits for answers only, and has asked for all of them. `useChat` sends answers with a new request, and only after the
   * response has ended; the rest of the message is in the response to that.
   */
  get isWaiting(): boolean {
    return this.asked.size > 0 && this.toAsk.size === 0;
  }

  start(): UiPart {
    return { type: "start", messageId: this.runId };
  }

  /** What ends a response in the middle of a run. */
  pause(): readonly UiPart[] {
    return [...this.endStep(), { type: "finish" }];
  }

  push({ execId, event }: RunEvent): readonly UiPart[] {
    const isRoot = (execId as string) === this.runId;
    switch (event.type) {
      case "step":
        if (!isRoot) return [];
        this.hasText = false;
        return [...this.endStep(), this.beginStep()];
      case "text":
      case "reasoning":
        return isRoot ? this.write(event.type, event.delta) : [];
      case "toolCall": {
        const { id, name, arguments: text } = event.call;
        const toolCallId = this.newId(`${execId} ${id}`, id);
        if (this.needsApproval.has(name)) this.toAsk.add(toolCallId);
        return [...this.endText(), called({ toolCallId, toolName: name }, text)];
      }
      case "toolResult": {
        const toolCallId = this.toolCallIds.get(`${execId} ${event.callId}`);
        if (toolCallId === undefined) return [];
        this.toAsk.delete(toolCallId);
        this.asked.delete(toolCallId);
        if (event.isError)
          return [{ type: "tool-output-error", toolCallId, errorText: plain(event.content) }];
        return [{ type: "tool-output-available", toolCallId, output: event.content }];
      }
      case "progress": {
        const toolCallId = this.toolCallIds.get(`${execId} ${event.callId}`);
        if (event.name === "approvalRequested" && toolCallId !== undefined) {
          this.toAsk.delete(toolCallId);
          this.asked.add(toolCallId);
          return [{ type: "tool-approval-request", approvalId: nameIn(event.data), toolCallId }];
        }
        if (event.name === "answerRestarted" && isRoot) return this.restart();
        const data = { name: event.name, data: event.data, toolCallId: toolCallId ?? null };
        return [{ type: "data-progress", data, transient: true }];
      }
      case "error": {
        if (!isRoot) return [];
        const { code, message } = event.error;
        const isCancelled = code === "CANCELLED" || code === "DEADLINE_EXCEEDED";
        const how: UiPart = isCancelled
          ? { type: "abort", reason: message }
          : { type: "error", errorText: message };
        return [...this.endStep(), how, finish(isCancelled ? "cancelled" : "failed")];
      }
      case "completed": {
        if (!isRoot) return [];
        const { output, status } = event.result;
        // An answer that was not streamed, or that is on record.
        const rest = this.hasText || output === "" ? [] : this.write("text", output);
        return [...rest, ...this.endStep(), finish(status)];
      }
      default:
        return [];
    }
  }

  private write(kind: "text" | "reasoning", delta: string): readonly UiPart[] {
    if (kind === "text") this.hasText = true;
    const before: UiPart[] = [];
    if (this.open?.kind !== kind) {
      before.push(...this.endText());
      this.open = { kind, id: `${kind}-${++this.texts}` };
      before.push({ type: `${kind}-start`, id: this.open.id });
    }
    return [...before, { type: `${kind}-delta`, id: this.open.id, delta }];
  }

  private restart(): readonly UiPart[] {
    const id = this.open?.id ?? null;
    this.hasText = false;
    return [...this.endText(), { type: "data-restarted", data: { id } }];
  }

  private endText(): readonly UiPart[] {
    const { open } = this;
    this.open = undefined;
    return open === undefined ? [] : [{ type: `${open.kind}-end`, id: open.id }];
  }

  private beginStep(): UiPart {
    this.isInStep = true;
    return { type: "start-step" };
  }

  private endStep(): readonly UiPart[] {
    const parts = this.endText();
    if (!this.isInStep) return parts;
    this.isInStep = false;
    return [...parts, { type: "finish-step" }];
  }

  /** Some servers call every first call `call_0`. */
  private newId(key: string, id: string): string {
    let free = id;
    for (let n = 2; this.usedIds.has(free); n++) free = `${id}#${n}`;
    this.usedIds.add(free);
    this.toolCallIds.set(key, free);
    return free;
  }
}

function finish(status: string): UiPart {
  return { type: "finish", messageMetadata: { status } };
}

function called(call: { readonly toolCallId: string; readonly toolName: string }, text: string): UiPart {
  try {
    return { type: "tool-input-available", ...call, input: text.trim() === "" ? {} : JSON.parse(text) };
  } catch (error) {
    return { type: "tool-input-error", ...call, input: text, errorText: String(error) };
  }
}

function plain(content: string | readonly { readonly type: string; readonly text?: string }[]): string {
  if (typeof content === "string") return content;
  return content.map(({ text }) => text ?? "").join("");
}
