import { answerCall } from "./answer-call.ts";
import { chatCompletions } from "./chat-completions.ts";
import { readChatRequest } from "./chat-request.ts";
import type { Served } from "./protocol.ts";
import { readObject } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";
import { findUnpaired } from "./tool-pairs.ts";

/** `POST /v1/chat/completions`. */
export async function serveChat(served: Served): Promise<void> {
  const body = readObject(served.incoming.body, "body");
  const { model, stream, includeUsage, request } = readChatRequest(body);
  const unpaired = served.context.checkToolPairs ? findUnpaired(request.messages) : undefined;
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
    served,
  );
}
