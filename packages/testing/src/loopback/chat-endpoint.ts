import type { ServerResponse } from "node:http";
import { type AbortSignalLike, isPromiseLike } from "@ravi/kernel";
import { hangsAtOnce } from "../answers/fault.ts";
import { type Plan, planAnswer } from "../answers/plan.ts";
import { abortable } from "../time.ts";
import { chatCompletions } from "./chat-completions.ts";
import { type ChatRequest, readChatRequest } from "./chat-request.ts";
import { deliver } from "./deliver.ts";
import type { House } from "./house.ts";
import { readObject } from "./read-json.ts";
import { RefusedRequest, refusalOf } from "./refusal.ts";
import type { LoopbackRequest } from "./request.ts";
import { findUnpaired } from "./tool-pairs.ts";

/** `POST /v1/chat/completions`. The charge is on the disk before the delay and the first byte of the answer. */
export async function serveChat(
  incoming: LoopbackRequest,
  response: ServerResponse,
  house: House,
  gone: AbortSignalLike,
): Promise<void> {
  const body = readObject(incoming.body, "body");
  const chat = readChatRequest(body);
  checkServable(chat, house);

  const index = house.nextIndex();
  const { model, stream, includeUsage, request } = chat;
  const answer = house.script(request, index, { ...incoming, index, model, stream, body, signal: gone });
  // Not until the client has gone: what the model began is charged, whether somebody still listens or not.
  const plan = planAnswer(isPromiseLike(answer) ? await abortable(answer, house.closing) : answer, request);
  if (isCharged(plan)) {
    const { idempotencyKey, key } = incoming;
    await house.bill.add({ model, usage: plan.usage, idempotencyKey, key });
  }

  response.setHeader("x-request-id", `req-${index}`);
  const wire = chatCompletions({
    id: plan.id ?? `chatcmpl-${index}`,
    created: Math.floor(house.clock.now() / 1_000),
    model: plan.model ?? model,
    includeUsage,
    plan,
  });
  await deliver(response, {
    plan,
    wire,
    stream,
    chunkSize: house.chunkSize,
    clock: house.clock,
    signal: gone,
  });
}

/** Whatever is answered is charged, also an answer that breaks off. A refusal is not, nor silence from the start. */
function isCharged(plan: Plan): boolean {
  return refusalOf(plan) === undefined && !hangsAtOnce(plan.fault);
}

function checkServable({ model, request }: ChatRequest, house: House): void {
  if (house.models !== undefined && !house.models.includes(model)) {
    throw new RefusedRequest({
      status: 404,
      message: `The model '${model}' does not exist; there are ${house.models.join(", ")}`,
      code: "model_not_found",
    });
  }
  const unpaired = house.checkToolPairs ? findUnpaired(request.messages) : undefined;
  if (unpaired !== undefined) throw new RefusedRequest({ status: 400, message: unpaired, param: "messages" });
}
