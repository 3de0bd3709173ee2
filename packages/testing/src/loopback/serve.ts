import type { IncomingMessage, ServerResponse } from "node:http";
import { CancellationError, type JsonValue, parseJson } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { readBody } from "./body.ts";
import { refuse } from "./deliver.ts";
import type { ServerContext } from "./server-context.ts";
import type { Served } from "./protocol.ts";
import { RefusedRequest, refusalOfError } from "./refusal.ts";
import { describeIncoming, keyOf, type LoopbackRequest } from "./request.ts";

/** How deep the JSON of a request may be nested. Schemas are nested deeper than the arguments of a tool. */
const MAX_DEPTH = 200;

/** Serves one request to its end. Never rejects. */
export async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServerContext,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new CancellationError({ reason: "the client disconnected" })));
  try {
    const { incoming, problem } = await receive(request, context);
    context.note(incoming);
    checkKey(keyOf(request.headers), context.requireKey);
    if (problem !== undefined) throw problem;
    await route({ incoming, response, context, gone: gone.signal });
  } catch (error) {
    if (gone.signal.aborted || context.closing.aborted || response.headersSent) response.destroy();
    else {
      const refusal = error instanceof RefusedRequest ? error.refusal : refusalOfError(error);
      refuse(response, refusal, context);
    }
  }
}

/**
 * Reads the request. A body that cannot be read is returned as a problem and not thrown, because a wrong key has to be reported
 * first.
 */
async function receive(
  request: IncomingMessage,
  context: ServerContext,
): Promise<{ readonly incoming: LoopbackRequest; readonly problem: RefusedRequest | undefined }> {
  let body: JsonValue | undefined;
  let problem: RefusedRequest | undefined;
  try {
    const text = await readBody(request, context.maxBodyBytes);
    if (text !== "") body = parseBody(text, context.maxBodyBytes);
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    problem = error;
  }
  return { incoming: describeIncoming(request, body), problem };
}

function parseBody(text: string, maxLength: number): JsonValue {
  try {
    return parseJson(text, "body", { maxDepth: MAX_DEPTH, maxLength });
  } catch (error) {
    throw new RefusedRequest({
      status: 400,
      message: `the body of the request cannot be read: ${messageOf(error)}`,
    });
  }
}

function checkKey(key: string | undefined, required: boolean | string): void {
  if (required === false || key === required) return;
  if (key === undefined || key === "") {
    throw new RefusedRequest({
      status: 401,
      message: "You didn't provide an API key. Send it as Authorization: Bearer YOUR_KEY.",
    });
  }
  if (required === true) return;
  throw new RefusedRequest({
    status: 401,
    message: "Incorrect API key provided.",
    code: "invalid_api_key",
  });
}

async function route(served: Served): Promise<void> {
  const { method, path } = served.incoming;
  const { routes } = served.context.protocol;
  const wanted = routes.get(path);
  if (wanted === undefined) {
    throw new RefusedRequest({
      status: 404,
      message: `Invalid URL (${method} ${path}); there are ${[...routes.keys()].join(", ")}`,
    });
  }
  if (method !== wanted.method) {
    const message = `Not allowed to ${method} on ${path}; use ${wanted.method}`;
    throw new RefusedRequest({ status: 405, message, headers: { allow: wanted.method } });
  }
  await wanted.serve(served);
}
