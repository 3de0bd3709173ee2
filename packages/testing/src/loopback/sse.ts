/** One server-sent event. JSON has no raw line breaks, so its data is a single line. */
export function frame(data: string): string {
  return `data: ${data}\n\n`;
}

export const DONE = frame("[DONE]");

export const SSE_HEADERS = Object.freeze({
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
});
