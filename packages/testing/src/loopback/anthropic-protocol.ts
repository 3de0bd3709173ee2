import { estimateInputTokens } from "../answers/usage.ts";
import { answerCall } from "./answer-call.ts";
import { type MessagesRequest, readMessagesRequest } from "./anthropic-request.ts";
import { wrong } from "./anthropic-fields.ts";
import { messagesError, messagesWire } from "./anthropic-wire.ts";
import type { Protocol, Served } from "./protocol.ts";
import { readObject } from "./read-json.ts";
import type { Answered, Wire } from "./wire.ts";

/** Anthropic's endpoints and the format of its errors. */
export const ANTHROPIC: Protocol = {
  basePath: "",
  routes: new Map([
    ["/v1/messages", { method: "POST", serve: serveMessages }],
    ["/v1/messages/count_tokens", { method: "POST", serve: serveCount }],
  ]),
  errorBody: messagesError,
};

async function serveMessages(served: Served): Promise<void> {
  const { model, stream, request } = readCall(served, true);
  const body = readObject(served.incoming.body, "body");
  const wire = (answered: Answered, index: number): Wire => {
    served.response.setHeader("request-id", `req-${index}`);
    return messagesWire(answered);
  };
  await answerCall({ model, stream, body, request, idPrefix: "msg", wire }, served);
}

/** An estimate, which is not charged. */
async function serveCount(served: Served): Promise<void> {
  const { request } = readCall(served, false);
  const { response } = served;
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ input_tokens: estimateInputTokens(request) }));
}

function readCall({ incoming, context }: Served, needsLimit: boolean): MessagesRequest {
  const version = incoming.headers["anthropic-version"];
  if (version === undefined || !/^\d{4}-\d\d-\d\d$/.test(version)) {
    throw wrong("anthropic-version", "header is required");
  }
  // Half a surrogate pair is an escape such as \ud800 in JSON. After an even number of backslashes it is real; after an odd
  // number it is only text.
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(incoming.body))) {
    throw wrong("The request body is not valid JSON", "no low surrogate in string");
  }
  const { checkToolPairs } = context;
  const isBeta = incoming.headers["anthropic-beta"] !== undefined;
  return readMessagesRequest(incoming.body, { version, needsLimit, checkToolPairs, isBeta });
}
