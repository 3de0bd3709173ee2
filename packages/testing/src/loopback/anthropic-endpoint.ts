import type { ServerResponse } from "node:http";
import type { AbortSignalLike } from "@ravi/kernel";
import { estimateInputTokens } from "../answers/usage.ts";
import { answerCall } from "./answer-call.ts";
import { type MessagesRequest, readMessagesRequest } from "./anthropic-request.ts";
import { wrong } from "./anthropic-fields.ts";
import { messagesWire } from "./anthropic-wire.ts";
import type { House } from "./house.ts";
import { readObject } from "./read-json.ts";
import type { LoopbackRequest } from "./request.ts";

/** `POST /v1/messages`. */
export async function serveMessages(
  incoming: LoopbackRequest,
  response: ServerResponse,
  house: House,
  gone: AbortSignalLike,
): Promise<void> {
  const { model, stream, request } = readCall(incoming, house, true);
  const body = readObject(incoming.body, "body");
  await answerCall(
    {
      model,
      stream,
      body,
      request,
      wire(plan, { index }) {
        response.setHeader("request-id", `req-${index}`);
        return messagesWire({ id: plan.id ?? `msg-${index}`, model: plan.model ?? model, plan });
      },
    },
    { incoming, response, house, gone },
  );
}

/** `POST /v1/messages/count_tokens`: an estimate, and free. */
export async function serveCount(
  incoming: LoopbackRequest,
  response: ServerResponse,
  house: House,
): Promise<void> {
  const { request } = readCall(incoming, house, false);
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ input_tokens: estimateInputTokens(request) }));
}

function readCall(incoming: LoopbackRequest, house: House, needsLimit: boolean): MessagesRequest {
  const version = incoming.headers["anthropic-version"];
  if (version === undefined || !/^\d{4}-\d\d-\d\d$/.test(version)) {
    throw wrong("anthropic-version", "header is required");
  }
  // Lone halves of characters are escapes in JSON; an even number of backslashes before one only spells it out.
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(incoming.body))) {
    throw wrong("The request body is not valid JSON", "no low surrogate in string");
  }
  const { checkToolPairs } = house;
  return readMessagesRequest(incoming.body, { version, needsLimit, checkToolPairs });
}
