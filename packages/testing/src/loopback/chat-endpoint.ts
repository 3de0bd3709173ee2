import type { ServerResponse } from "node:http";
import type { AbortSignalLike } from "@ravi/kernel";
import { answerCall } from "./answer-call.ts";
import { chatCompletions } from "./chat-completions.ts";
import { readChatRequest } from "./chat-request.ts";
import type { House } from "./house.ts";
import { readObject } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";
import type { LoopbackRequest } from "./request.ts";
import { findUnpaired } from "./tool-pairs.ts";

/** `POST /v1/chat/completions`. */
export async function serveChat(
  incoming: LoopbackRequest,
  response: ServerResponse,
  house: House,
  gone: AbortSignalLike,
): Promise<void> {
  const body = readObject(incoming.body, "body");
  const { model, stream, includeUsage, request } = readChatRequest(body);
  const unpaired = house.checkToolPairs ? findUnpaired(request.messages) : undefined;
  if (unpaired !== undefined) throw new RefusedRequest({ status: 400, message: unpaired, param: "messages" });
  await answerCall(
    {
      model,
      stream,
      body,
      request,
      wire: (plan, { index, created }) =>
        chatCompletions({
          id: plan.id ?? `chatcmpl-${index}`,
          created,
          model: plan.model ?? model,
          includeUsage,
          plan,
        }),
    },
    { incoming, response, house, gone },
  );
}
