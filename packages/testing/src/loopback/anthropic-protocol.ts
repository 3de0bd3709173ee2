import { serveCount, serveMessages } from "./anthropic-endpoint.ts";
import { messagesError } from "./anthropic-wire.ts";
import type { Protocol } from "./protocol.ts";

/** Anthropic's endpoints and the format of its errors. */
export const ANTHROPIC: Protocol = {
  basePath: "",
  routes: new Map([
    ["/v1/messages", { method: "POST", serve: serveMessages }],
    ["/v1/messages/count_tokens", { method: "POST", serve: serveCount }],
  ]),
  errorBody: messagesError,
};
