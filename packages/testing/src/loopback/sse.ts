import type { JsonObject } from "@ravi/kernel";

/** One server-sent event. JSON contains no raw line breaks, so its data is a single line. */
export function frame(data: string): string {
  return `data: ${data}\n\n`;
}

/** One server-sent event with a name. */
export function namedFrame(name: string, data: JsonObject): string {
  return `event: ${name}\n${frame(JSON.stringify(data))}`;
}

export const DONE = frame("[DONE]");

export const SSE_HEADERS = Object.freeze({
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
});
