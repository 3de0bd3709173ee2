import { isPromiseLike, type JsonObject, type ModelRequest } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";
import { hangsAtOnce } from "../answers/fault.ts";
import { type Plan, planAnswer } from "../answers/plan.ts";
import { deliver } from "./deliver.ts";
import type { ServerContext } from "./server-context.ts";
import type { Served } from "./protocol.ts";
import { RefusedRequest, refusalOf } from "./refusal.ts";
import type { Answered, Wire } from "./wire.ts";

/** A call that an endpoint has read and found valid. */
export interface ReadCall {
  readonly model: string;
  readonly stream: boolean;
  readonly body: JsonObject;
  readonly request: ModelRequest;
  /** The id of an answer that has none of its own begins with it. */
  readonly idPrefix: string;
  /** Creates the answer in the endpoint's protocol. */
  wire(answered: Answered, index: number): Wire;
}

/** Answers from the script. The charge is on the disk before the delay and before the first byte of the answer. */
export async function answerCall(
  call: ReadCall,
  { incoming, response, context, gone }: Served,
): Promise<void> {
  const { model, stream, body, request } = call;
  checkModel(model, context);
  const index = context.nextIndex();
  const answer = context.script(request, index, { ...incoming, index, model, stream, body, signal: gone });
  // Only `closing` aborts this, and not a client that has gone: once the model has begun, the call is charged.
  const plan = planAnswer(isPromiseLike(answer) ? await abortable(answer, context.closing) : answer, request);
  if (isCharged(plan)) {
    const { idempotencyKey, key } = incoming;
    await context.bill.add({ model, usage: plan.usage, idempotencyKey, key });
  }

  response.setHeader("x-request-id", `req-${index}`);
  const { id = `${call.idPrefix}-${index}`, model: said = model } = plan;
  const wire = call.wire({ id, model: said, created: Math.floor(context.clock.now() / 1_000), plan }, index);
  await deliver(response, { plan, wire, stream, context, signal: gone });
}

/** Every answer is charged, also one that breaks off. A refusal is not, nor a hang from the start. */
function isCharged(plan: Plan): boolean {
  return refusalOf(plan) === undefined && !hangsAtOnce(plan.fault);
}

function checkModel(model: string, { models }: ServerContext): void {
  if (models === undefined || models.includes(model)) return;
  throw new RefusedRequest({
    status: 404,
    message: `The model '${model}' does not exist; there are ${models.join(", ")}`,
    code: "model_not_found",
  });
}
