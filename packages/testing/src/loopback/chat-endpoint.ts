import { answerCall } from "./answer-call.ts";
import { chatCompletions } from "./chat-completions.ts";
import { readChatRequest } from "./chat-request.ts";
import type { Served } from "./protocol.ts";
import { readObject } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";
import { findUnpaired } from "./tool-pairs.ts";
import type { Answered, Wire } from "./wire.ts";

/** `POST /v1/chat/completions`. */
export async function serveChat(served: Served): Promise<void> {
  const body = readObject(served.incoming.body, "body");
  const { model, stream, includeUsage, request } = readChatRequest(body);
  const unpaired = served.context.checkToolPairs ? findUnpaired(request.messages) : undefined;
  if (unpaired !== undefined) throw new RefusedRequest({ status: 400, message: unpaired, param: "messages" });
  const wire = (answered: Answered): Wire => chatCompletions({ ...answered, includeUsage });
  await answerCall({ model, stream, body, request, idPrefix: "chatcmpl", wire }, served);
}
