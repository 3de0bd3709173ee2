import type { Protocol } from "../wire/protocol.ts";
import { collectResponse } from "./answer.ts";
import { responsesRemedy } from "./remedies.ts";
import { responsesBody } from "./request.ts";

/** The Responses API, OpenAI's own. */
export const RESPONSES: Protocol = Object.freeze({
  api: "responses",
  path: "/responses",
  body: responsesBody,
  remedyFor: responsesRemedy,
  collect: collectResponse,
});
