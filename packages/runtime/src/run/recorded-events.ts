import {
  type AgentEvent,
  AgentId,
  agentName,
  ExecId,
  type Journal,
  type JournalRecord,
  type JsonObject,
  type JsonValue,
  type PendingWait,
  type RunEvent,
  type RunId,
  type SerializedError,
  Supervision,
  type ToolCall,
  type ToolResult,
} from "@ravi/kernel";
import { answerDeltas } from "@ravi/kernel/loop";
import { replayedBill } from "../context/model-record.ts";
import { textAt } from "../engine/body.ts";
import type { HireBegin, ResultRecord } from "../engine/hire-record.ts";
import { attemptOf, isHire, isModelCall, SPEND, stepOf } from "../engine/recording.ts";
import { wholeRecords } from "../journal/entries/with-blobs.ts";
import { changeIn } from "../journal/facts/noted-waits.ts";
import { RUN_START, RUN_STATUS, RUN_WAITS } from "../journal/facts/run-facts.ts";
import { answerIn, AskedCalls } from "./asked-calls.ts";
import { wrongRun } from "./run-driver.ts";

/** Reads what a run has done, as events. Throws an `InvalidValueError` if it is not in the journal, or has not begun. */
export async function recordedEvents(journal: Journal, runId: RunId): Promise<readonly RunEvent[]> {
  const records = wholeRecords(runId, await journal.load(runId));
  if (records.length === 0) throw wrongRun(runId, "the id of a run in the journal that has begun");
  const reader = new EventReader();
  for (const record of records) reader.read(record);
  return reader.events;
}

/**
 * Makes the events of a run from its entries, one by one. It looks back only, so the events of the first entries are the first events:
 * whoever reads a growing record again gets what is new at the end.
 */
class EventReader {
  readonly events: RunEvent[] = [];
  private readonly agents = new Map<ExecId, AgentId>();
  /** Hired agents of whom no end was told. */
  private readonly working = new Set<ExecId>();
  /** Hired agents whose end was told. What is recorded of them after that, as of a tool that did not stop in time, nobody was told. */
  private readonly over = new Set<ExecId>();
  private readonly asked = new AskedCalls();
  private readonly quiet = new Set<string>();
  /** The tools that were begun, by attempt. */
  private readonly tools = new Map<string, { readonly tool: string; readonly call: ToolCall | undefined }>();
  private readonly requested = new Set<string>();

  read(record: JournalRecord): void {
    const { key, phase } = record;
    // The end of an effect has the sum of its calls.
    if (key.startsWith(SPEND)) return;
    if (isHire(record)) this.readHire(record);
    else if (isModelCall(record)) this.readModelCall(record);
    else if (phase !== "note") this.readTool(record);
    else if (key === RUN_START) this.readStart(record);
    else if (key === RUN_STATUS) this.readStatus(record);
    else if (key === RUN_WAITS) this.readWaits(record);
  }

  private readStart({ exec, at, body }: JournalRecord): void {
    this.begin(exec, Supervision.fromJSON(body["supervision"]).agentId, at, body);
  }

  private readHire({ exec, key, phase, at, body }: JournalRecord): void {
    const child = ExecId(exec, key);
    if (phase === "begin") {
      const { agentId } = body as HireBegin;
      this.add(exec, at, { type: "handoff", to: AgentId(agentName(agentId)), task: textAt(body, "input") });
      this.over.delete(child);
      this.working.add(child);
      this.begin(child, agentId, at, body);
    } else {
      const result = body["result"] as ResultRecord | undefined;
      const error = body["failure"] ?? body["error"];
      if (result === undefined) this.addError(child, at, error);
      else this.add(child, at, { type: "completed", result });
      if (result !== undefined || error !== undefined) this.end(child);
    }
  }

  private begin(exec: ExecId, agentId: AgentId, at: number, body: JsonObject): void {
    this.agents.set(exec, agentId);
    this.add(exec, at, { type: "started", input: textAt(body, "input") });
  }

  private end(child: ExecId): void {
    this.working.delete(child);
    this.over.add(child);
  }

  private readModelCall(record: JournalRecord): void {
    const { exec, phase, at, body } = record;
    if (phase === "begin" && body["quiet"] === true) this.quiet.add(stepOf(record));
    if (phase !== "end") return;
    const response = answerIn(body);
    const isQuiet = this.quiet.has(stepOf(record));
    for (const { type, delta } of response === undefined ? [] : answerDeltas(response, undefined))
      this.add(
        exec,
        at,
        isQuiet ? { type: "progress", name: "quietAnswer", data: { [type]: delta } } : { type, delta },
      );
    if (body["spend"] !== undefined) this.addUsage(exec, at, body);
    this.addError(exec, at, body["error"]);
    for (const call of response?.message.toolCalls ?? []) {
      this.asked.add(exec, call);
      this.add(exec, at, { type: "toolCall", call });
    }
  }

  private readTool(record: JournalRecord): void {
    const { exec, key, phase, at, body } = record;
    if (phase === "begin") {
      const call = this.asked.of(record);
      this.tools.set(attemptOf(record), { tool: textAt(body, "tool"), call });
      return;
    }
    // Of the models that it has called.
    if (turnsIn(body) > 0) this.addUsage(exec, at, body);
    const begun = this.tools.get(attemptOf(record));
    if (begun === undefined || body["withdrawn"] === true) return;
    const { content, isError } = body as Partial<ToolResult>;
    if (content === undefined) return this.addError(exec, at, body["error"]);
    const callId = begun.call?.id ?? key;
    this.add(exec, at, { type: "toolResult", callId, name: begun.tool, content, isError: isError === true });
  }

  /** The end of the run, or why it is suspended. */
  private readStatus({ exec, at, body }: JournalRecord): void {
    const { status, output, stopReason, structured, problem } = body as Partial<ResultRecord>;
    // Whoever cancels a run that nobody has ends its agents, the last one first, and only the run's end is on record.
    if (body["status"] === "cancelled")
      for (const child of [...this.working].toReversed()) this.addError(child, at, body["error"]);
    if (status !== "completed" && status !== "partial") return this.addError(exec, at, body["error"]);
    const result = { status, output: output ?? "", stopReason: stopReason ?? "done" };
    this.add(exec, at, {
      type: "completed",
      result: {
        ...result,
        ...(structured !== undefined && { structured }),
        ...(problem !== undefined && { problem }),
      },
    });
  }

  /** The approvals that are asked for. A resumed run notes again what it waits for. */
  private readWaits({ at, body }: JournalRecord): void {
    for (const [id, text] of changeIn(body)?.begun ?? []) {
      const { kind, name, execId, question = null } = JSON.parse(text) as PendingWait;
      if (kind !== "approval" || this.requested.has(id)) continue;
      this.requested.add(id);
      const event = { type: "progress", name: "approvalRequested", data: { name, question } } as const;
      const callId = textAt(objectOf(question), "callId");
      this.add(execId, at, callId === "" ? event : { ...event, callId });
    }
  }

  private addUsage(exec: ExecId, at: number, body: JsonObject): void {
    const { usage, costUsd } = replayedBill(body);
    this.add(exec, at, { type: "usage", usage, costUsd });
  }

  private addError(exec: ExecId, at: number, error: JsonValue | undefined): void {
    if (error !== undefined) this.add(exec, at, { type: "error", error: error as SerializedError });
  }

  private add(execId: ExecId, at: number, event: AgentEvent): void {
    const agentId = this.agents.get(execId);
    if (agentId === undefined) throw new Error(`the record has no begin of ${execId}`);
    if (this.over.has(execId)) return;
    this.events.push({ seq: this.events.length + 1, at, agentId, execId, event });
  }
}

function turnsIn(body: JsonObject): number {
  return Number(objectOf(body["spend"])?.["turns"] ?? 0);
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}
