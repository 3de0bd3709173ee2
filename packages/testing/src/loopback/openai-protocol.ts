import { serveChat } from "./chat-endpoint.ts";
import { errorBody } from "./openai-error.ts";
import type { Protocol, Served } from "./protocol.ts";
import { serveResponses } from "./responses-endpoint.ts";

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
