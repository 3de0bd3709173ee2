import type { ServerResponse } from "node:http";
import type { AbortSignalLike } from "@ravi/kernel";
import { abortable, sleep } from "@ravi/kernel/loop";
import { deltasOf } from "../answers/deltas.ts";
import { deltasBefore, hangsAtOnce } from "../answers/fault.ts";
import type { Plan } from "../answers/plan.ts";
import type { ServerContext } from "./server-context.ts";
import { type Refusal, refusalOf } from "./refusal.ts";
import { frame, SSE_HEADERS } from "./sse.ts";
import type { Wire } from "./wire.ts";

export interface Delivery {
  readonly plan: Plan;
  readonly wire: Wire;
  readonly stream: boolean;
  readonly context: ServerContext;
  /** Aborts when the client has gone or the server closes; sending then throws a `CancellationError`. */
  readonly signal: AbortSignalLike;
}

const JSON_HEADERS = { "content-type": "application/json" };
/** JSON that is cut off. */
const BROKEN_JSON = '{"id":"chatcmpl-';

/** Sends an answer with its delays and its fault. */
export async function deliver(response: ServerResponse, delivery: Delivery): Promise<void> {
  const { plan, context, signal } = delivery;
  if (plan.delayMs > 0) await sleep(context.clock, plan.delayMs, signal);
  if (hangsAtOnce(plan.fault)) await sleep(context.clock, Infinity, signal);
  const refusal = refusalOf(plan);
  if (refusal !== undefined) refuse(response, refusal, context);
  else if (plan.fault?.type === "malformed") sendMalformed(response, delivery, plan.fault);
  else if (delivery.stream) await sendStream(response, delivery);
  else await sendWhole(response, delivery);
}

export function refuse(response: ServerResponse, refusal: Refusal, { protocol }: ServerContext): void {
  response.writeHead(refusal.status, { ...JSON_HEADERS, ...refusal.headers });
  response.end(JSON.stringify(protocol.errorBody(refusal)));
}

async function sendWhole(response: ServerResponse, { plan, wire, context, signal }: Delivery): Promise<void> {
  const body = Buffer.from(JSON.stringify(wire.whole()));
  const half = body.subarray(0, Math.floor(body.length / 2));
  switch (plan.fault?.type) {
    case "hang":
      response.writeHead(200, JSON_HEADERS).flushHeaders();
      return sleep(context.clock, Infinity, signal);
    case "cut":
      response.writeHead(200, { ...JSON_HEADERS, "content-length": body.length });
      await write(response, half, signal);
      response.destroy();
      return;
    case "unfinished":
      response.writeHead(200, JSON_HEADERS).end(half);
      return;
    default:
      response.writeHead(200, { ...JSON_HEADERS, "content-length": body.length }).end(body);
  }
}

async function sendStream(response: ServerResponse, delivery: Delivery): Promise<void> {
  const { plan, wire, context, signal } = delivery;
  response.writeHead(200, SSE_HEADERS).flushHeaders();
  let left = deltasBefore(plan.fault);
  if (left > 0) await write(response, wire.opening(), signal);
  for (const delta of deltasOf(plan, context.chunkSize)) {
    if (left-- <= 0) break;
    if (plan.chunkDelayMs > 0) await sleep(context.clock, plan.chunkDelayMs, signal);
    await write(response, wire.delta(delta), signal);
  }
  switch (plan.fault?.type) {
    case "hang":
      return sleep(context.clock, Infinity, signal);
    case "cut":
      if (plan.fault.error === undefined) response.destroy();
      else response.end(wire.failure(plan.fault.error));
      return;
    case "unfinished":
      response.end();
      return;
    default:
      response.end(wire.closing());
  }
}

function sendMalformed(
  response: ServerResponse,
  { stream }: Delivery,
  fault: { readonly body?: string | undefined; readonly contentType?: string | undefined },
): void {
  const headers = stream ? SSE_HEADERS : JSON_HEADERS;
  response.writeHead(200, {
    ...headers,
    ...(fault.contentType === undefined ? {} : { "content-type": fault.contentType }),
  });
  response.end(fault.body ?? (stream ? frame(BROKEN_JSON) : BROKEN_JSON));
}

/**
 * Waits until the bytes have left the process, so that they arrive even if the connection is cut next. Also waits for the signal:
 * Node 22 never calls back if the client has just gone.
 */
async function write(
  response: ServerResponse,
  data: string | Uint8Array,
  signal: AbortSignalLike,
): Promise<void> {
  signal.throwIfAborted();
  const written = new Promise<void>((resolve) => {
    // An error means that the client has gone, which the signal reports too.
    response.write(data, () => resolve());
  });
  return abortable(written, signal);
}
