import type { ExecId, JournalRecord, JsonObject, ModelResponse, ToolCall } from "@ravi/kernel";
import { answerMisfit } from "@ravi/kernel/loop";
import { nameOfCall } from "../context/call-name.ts";
import { textAt } from "../engine/body.ts";
import { isModelCall } from "../engine/recording.ts";

/** The tool calls that models have asked for, to be found by the begin entries of the tools: those have only a name of the call. */
export class AskedCalls {
  private readonly calls = new Map<string, ToolCall>();

  add(exec: ExecId, call: ToolCall): void {
    this.calls.set(`${exec}\n${nameOfCall({ tool: call, call })}`, call);
  }

  /** Undefined if no model has asked for it: an agent may call tools on its own. */
  of({ exec, body }: Pick<JournalRecord, "exec" | "body">): ToolCall | undefined {
    return this.calls.get(`${exec}\n${textAt(body, "fingerprint")}`);
  }
}

/** What the models of these executions have asked for. */
export function askedIn(records: readonly JournalRecord[], execs: ReadonlySet<ExecId>): AskedCalls {
  const asked = new AskedCalls();
  for (const record of records) {
    if (!execs.has(record.exec) || !isModelCall(record) || record.phase !== "end") continue;
    for (const call of answerIn(record.body)?.message.toolCalls ?? []) asked.add(record.exec, call);
  }
  return asked;
}

/** The answer in the end entry of a model call. That to a call that was given up is recorded for its cost, whatever it is. */
export function answerIn(body: JsonObject): ModelResponse | undefined {
  const given = body["response"] as ModelResponse | undefined;
  return answerMisfit(given) === undefined ? given : undefined;
}
