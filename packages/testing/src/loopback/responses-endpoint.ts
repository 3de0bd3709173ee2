import { answerCall } from "./answer-call.ts";
import type { Served } from "./protocol.ts";
import { readObject } from "./read-json.ts";
import { readResponsesRequest } from "./responses-request.ts";
import { responsesWire } from "./responses-wire.ts";

/** `POST /v1/responses`. */
export async function serveResponses(served: Served): Promise<void> {
  const body = readObject(served.incoming.body, "body");
  const { checkToolPairs } = served.context;
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
          asked: body,
          plan,
        }),
    },
    served,
  );
}
