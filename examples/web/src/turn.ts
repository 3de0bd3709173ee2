import { randomUUID } from "node:crypto";
import type { RunEvent, SdkHandle } from "@ravi/sdk";
import { EventLog } from "./event-log.ts";

/** A turn of a chat that this process works on, or has worked on. */
export class Turn {
  readonly runId: string;
  readonly log = new EventLog(randomUUID());
  /** Resolves when this process has done with it. */
  readonly over: Promise<void>;
  private readonly handle: SdkHandle;
  /** The questions that nobody has answered yet, by name, and the calls that they are about. */
  private readonly questions = new Map<string, string>();

  constructor(handle: SdkHandle) {
    this.runId = handle.runId;
    this.handle = handle;
    this.over = this.follow(handle.events());
  }

  /** False if it was stopped by `suspend` and will continue in the next process. */
  get hasEnded(): boolean {
    return !["pending", "running", "suspended"].includes(this.handle.status);
  }

  /** Whether this process works on it. If it neither does nor has ended, it is left to another one. */
  get isHere(): boolean {
    return !this.log.isOver;
  }

  /** Resolves when it is on record, with the first event. Rejects if it could not be started. */
  async begun(): Promise<void> {
    const { done = false } = await this.log.read(0, new AbortController().signal).next();
    // Without any event the result says why.
    if (done) await this.handle.result;
  }

  /** Whether it waits for the answer to this question. */
  isOpen(name: string): boolean {
    return this.questions.has(name) && !this.hasEnded;
  }

  /** Answers a question. False if it is not open: names come from outside. Of two answers at once the first counts. */
  async answer(name: string, approved: boolean, reason?: string): Promise<boolean> {
    if (!this.isOpen(name)) return false;
    this.questions.delete(name);
    await this.handle.deliver(name, { approved, ...(reason !== undefined && { reason }) }, { id: name });
    return true;
  }

  /** Stops it for good, and returns how it has ended. */
  async stop(): Promise<string> {
    this.handle.cancel("stopped by the user");
    return (await this.handle.result).status;
  }

  /** Lets calls under way end, begins no other, and leaves the rest to the next process. */
  async suspend(graceMs: number): Promise<void> {
    await this.handle.suspend({ graceMs });
  }

  private async follow(events: AsyncIterable<RunEvent>): Promise<void> {
    for await (const event of events) {
      this.note(event);
      this.log.push(event);
    }
    // The status is final now. A rejection was handled by whoever waits for the result.
    await this.handle.result.catch(() => {});
    this.log.end();
  }

  private note({ execId, event }: RunEvent): void {
    if (event.type === "progress" && event.name === "approvalRequested")
      this.questions.set(nameIn(event.data), `${execId} ${event.callId}`);
    if (event.type !== "toolResult") return;
    // Somebody else may have answered it, through the journal.
    for (const [name, call] of this.questions)
      if (call === `${execId} ${event.callId}`) this.questions.delete(name);
  }
}

/** The name under which a question is to be answered. */
export function nameIn(data: unknown): string {
  return typeof data === "object" && data !== null && "name" in data ? String(data.name) : "";
}
