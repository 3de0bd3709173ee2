import type { IncomingMessage } from "node:http";
import { RefusedRequest } from "./refusal.ts";

/** How many times the limit is read and discarded, so that the sender gets the refusal and not a broken pipe. */
const PATIENCE = 4;

/** The whole body as text. Throws a `RefusedRequest` if it is longer than `maxBytes`. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
    if (size > maxBytes * PATIENCE) break;
  }
  if (size <= maxBytes) return Buffer.concat(chunks).toString("utf8");
  throw new RefusedRequest({
    status: 413,
    message: `the body is longer than ${maxBytes} bytes; send less, or raise maxBodyBytes`,
    code: "request_too_large",
  });
}
