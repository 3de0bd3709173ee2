import { answerCall } from "./answer-call.ts";
import { chatCompletions } from "./chat-completions.ts";
import { readChatRequest } from "./chat-request.ts";
import { errorBody } from "./openai-error.ts";
import type { Protocol, Served } from "./protocol.ts";
import { readObject } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";
import { readResponsesRequest } from "./responses-request.ts";
import { responsesWire } from "./responses-wire.ts";
import { findUnpaired } from "./tool-pairs.ts";
import type { Answered, Wire } from "./wire.ts";

/** OpenAI's endpoints and the format of its errors. */
export const OPENAI: Protocol = {
  basePath: "/v1",
  routes: new Map([
    ["/v1/chat/completions", { method: "POST", serve: serveChat }],
    ["/v1/responses", { method: "POST", serve: serveResponses }],
    ["/v1/models", { method: "GET", serve: serveModels }],
  ]),
  errorBody,
};

async function serveChat(served: Served): Promise<void> {
  const body = readObject(served.incoming.body, "body");
  const { model, stream, includeUsage, request } = readChatRequest(body);
  const unpaired = served.context.checkToolPairs ? findUnpaired(request.messages) : undefined;
  if (unpaired !== undefined) throw new RefusedRequest({ status: 400, message: unpaired, param: "messages" });
  const wire = (answered: Answered): Wire => chatCompletions({ ...answered, includeUsage });
  await answerCall({ model, stream, body, request, idPrefix: "chatcmpl", wire }, served);
}

async function serveResponses(served: Served): Promise<void> {
  const body = readObject(served.incoming.body, "body");
  const { checkToolPairs } = served.context;
  const { model, stream, sealsReasoning, request } = readResponsesRequest(body, { checkToolPairs });
  const wire = (answered: Answered): Wire => responsesWire({ ...answered, sealsReasoning, asked: body });
  await answerCall({ model, stream, body, request, idPrefix: "resp", wire }, served);
}

async function serveModels({ response, context }: Served): Promise<void> {
  const data = (context.models ?? ["loopback"]).map((id) => ({
    id,
    object: "model",
    created: 0,
    owned_by: "loopback",
  }));
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ object: "list", data }));
}
