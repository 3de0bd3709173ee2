import {
  errorFromJSON,
  type JsonObject,
  type ModelResponse,
  NO_USAGE,
  type SerializedError,
  type Usage,
} from "@ravi/kernel";
import type { Bill } from "./money/bill.ts";
import type { ToldEnd } from "./tell-call.ts";

// The end entry of a model call, and what a replay tells of it.

/** Who answered in place of the agent's model. */
export type Substitute = { readonly provider: string; readonly model: string };

export function modelRecord(
  response: ModelResponse,
  bill: Bill,
  substitute: Substitute | undefined,
): JsonObject {
  const { costUsd } = bill;
  const body = { response, spend: bill.toJSON(), costUsd };
  // Nearly always there is nothing to add.
  if (!bill.estimated && substitute === undefined) return body;
  return { ...body, ...recordNote(bill, substitute) };
}

/** What the entry says of any end, also of a failure. */
export function recordNote({ estimated }: Bill, sentTo: Substitute | undefined): JsonObject {
  return { ...(estimated && { estimated }), ...(sentTo !== undefined && { sentTo }) };
}

export function substituteIn(body: JsonObject): Substitute | undefined {
  return body["sentTo"] as Substitute | undefined;
}

/** The end as it was told when it happened, with what it cost then. */
export function replayedEnd(body: JsonObject, started: number): ToldEnd {
  const response = body["response"] as ModelResponse | undefined;
  const spend = body["spend"] as Partial<RecordedSpend> | undefined;
  const { usage = NO_USAGE, cost = 0, priced = true } = spend ?? {};
  const costUsd = priced ? cost : null;
  const told = { started, replayed: true, usage, costUsd, estimated: body["estimated"] === true } as const;
  if (response !== undefined) return { status: "ok", response, ...told };
  return { status: "error", error: errorIn(body), ...told };
}

type RecordedSpend = { readonly usage: Usage; readonly cost: number; readonly priced: boolean };

/** Undefined where the call was withdrawn. */
function errorIn(body: JsonObject): unknown {
  const error = body["error"];
  return error === undefined ? undefined : errorFromJSON(error as SerializedError);
}
