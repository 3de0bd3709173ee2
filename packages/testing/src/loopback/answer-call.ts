import { isPromiseLike, type JsonObject, type ModelRequest } from "@ravi/kernel";
import { hangsAtOnce } from "../answers/fault.ts";
import { type Plan, planAnswer } from "../answers/plan.ts";
import { abortable } from "../time.ts";
import { deliver } from "./deliver.ts";
import type { House } from "./house.ts";
import type { Served } from "./protocol.ts";
import { RefusedRequest, refusalOf } from "./refusal.ts";
import type { Wire } from "./wire.ts";

/** A call that an endpoint has read and found in order. */
export interface ReadCall {
  readonly model: string;
  readonly stream: boolean;
  readonly body: JsonObject;
  readonly request: ModelRequest;
  /** How the endpoint's protocol writes the answer. */
  wire(plan: Plan, made: { readonly index: number; readonly created: number }): Wire;
}

/** Answers from the script. The charge is on the disk before the delay and the first byte of the answer. */
export async function answerCall(call: ReadCall, { incoming, response, house, gone }: Served): Promise<void> {
  const { model, stream, body, request } = call;
  checkModel(model, house);
  const index = house.nextIndex();
  const answer = house.script(request, index, { ...incoming, index, model, stream, body, signal: gone });
  // Not until the client has gone: what the model began is charged, whether somebody still listens or not.
  const plan = planAnswer(isPromiseLike(answer) ? await abortable(answer, house.closing) : answer, request);
  if (isCharged(plan)) {
    const { idempotencyKey, key } = incoming;
    await house.bill.add({ model, usage: plan.usage, idempotencyKey, key });
  }

  response.setHeader("x-request-id", `req-${index}`);
  const wire = call.wire(plan, { index, created: Math.floor(house.clock.now() / 1_000) });
  await deliver(response, { plan, wire, stream, house, signal: gone });
}

/** Whatever is answered is charged, also an answer that breaks off. A refusal is not, nor silence from the start. */
function isCharged(plan: Plan): boolean {
  return refusalOf(plan) === undefined && !hangsAtOnce(plan.fault);
}

function checkModel(model: string, { models }: House): void {
  if (models === undefined || models.includes(model)) return;
  throw new RefusedRequest({
    status: 404,
    message: `The model '${model}' does not exist; there are ${models.join(", ")}`,
    code: "model_not_found",
  });
}
