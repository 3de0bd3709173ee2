import { answerCall } from "./answer-call.ts";
import type { Served } from "./protocol.ts";
import { readObject } from "./read-json.ts";
import { readResponsesRequest } from "./responses-request.ts";
import { responsesWire } from "./responses-wire.ts";
import type { Answered, Wire } from "./wire.ts";

/** `POST /v1/responses`. */
export async function serveResponses(served: Served): Promise<void> {
  const body = readObject(served.incoming.body, "body");
  const { checkToolPairs } = served.context;
  const { model, stream, sealsReasoning, request } = readResponsesRequest(body, { checkToolPairs });
  const wire = (answered: Answered): Wire => responsesWire({ ...answered, sealsReasoning, asked: body });
  await answerCall({ model, stream, body, request, idPrefix: "resp", wire }, served);
}
