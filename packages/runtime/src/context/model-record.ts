import {
  errorFromJSON,
  type JsonObject,
  type ModelResponse,
  NO_USAGE,
  type SerializedError,
  type Usage,
} from "@ravi/kernel";
import type { Bill } from "./money/bill.ts";
import type { ReportedBill, ReportedEnd } from "./report-call.ts";

// The end entry of a model call, and what hooks are told of it in a replay.

/** The model that was called instead of the agent's own, because a layer has replaced it. */
export type Substitute = { readonly provider: string; readonly model: string };

/** The body of the end entry of a call that was answered. */
export function modelRecord(
  response: ModelResponse,
  bill: Bill,
  substitute: Substitute | undefined,
): JsonObject {
  const body = { response, spend: bill.toJSON() };
  // Most calls have nothing to add, and need no copy.
  if (!bill.estimated && substitute === undefined) return body;
  return { ...body, ...recordNote(bill, substitute) };
}

/** The fields that the end entry of an answer and that of a failure have in common. */
export function recordNote({ estimated }: Bill, sentTo: Substitute | undefined): JsonObject {
  return { ...(estimated && { estimated }), ...(sentTo !== undefined && { sentTo }) };
}

/** The substitute in a recorded end entry; undefined if the agent's own model was called. */
export function substituteIn(body: JsonObject): Substitute | undefined {
  return body["sentTo"] as Substitute | undefined;
}

/** The end of a recorded call as hooks are told of it in a replay. */
export function replayedEnd(body: JsonObject, started: number): ReportedEnd {
  const response = body["response"] as ModelResponse | undefined;
  return { response, error: errorIn(body), started, replayed: true };
}

/** What it cost when it was made. */
export function replayedBill(body: JsonObject): ReportedBill {
  const spend = body["spend"] as Partial<RecordedSpend> | undefined;
  const { usage = NO_USAGE, cost = 0, priced = true } = spend ?? {};
  return { usage, costUsd: priced ? cost : null, estimated: body["estimated"] === true };
}

type RecordedSpend = { readonly usage: Usage; readonly cost: number; readonly priced: boolean };

/** Undefined if the call was answered or withdrawn. */
function errorIn(body: JsonObject): unknown {
  const error = body["error"];
  return error === undefined ? undefined : errorFromJSON(error as SerializedError);
}
