import type { ServerResponse } from "node:http";
import type { AbortSignalLike } from "@ravi/kernel";
import { answerCall } from "./answer-call.ts";
import type { House } from "./house.ts";
import { readObject } from "./read-json.ts";
import type { LoopbackRequest } from "./request.ts";
import { readResponsesRequest } from "./responses-request.ts";
import { responsesWire } from "./responses-wire.ts";

/** `POST /v1/responses`. */
export async function serveResponses(
  incoming: LoopbackRequest,
  response: ServerResponse,
  house: House,
  gone: AbortSignalLike,
): Promise<void> {
  const body = readObject(incoming.body, "body");
  const { checkToolPairs } = house;
  const { model, stream, sealsReasoning, request } = readResponsesRequest(body, { checkToolPairs });
  await answerCall(
    {
      model,
      stream,
      body,
      request,
      wire: (plan, { index, created }) =>
        responsesWire({
          id: plan.id ?? `resp-${index}`,
          created,
          model: plan.model ?? model,
          sealsReasoning,
          plan,
        }),
    },
    { incoming, response, house, gone },
  );
}
