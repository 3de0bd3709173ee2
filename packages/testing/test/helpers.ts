import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelEvent, ModelRequest } from "@ravi/kernel";
import { onTestFinished } from "vitest";

/** A request with one message. */
export function ask(text: string): ModelRequest {
  return { messages: [{ role: "user", content: text }] };
}

export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const seen: ModelEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** A path in a folder of its own, which goes when the test is over. */
export function temporaryFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "ravi-testing-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

export function post(
  url: string,
  body: unknown,
  init: { signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(`${url}/chat/completions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

/** A Chat Completions request with one message. */
export function chat(text: string, more: object = {}): object {
  return { model: "small", messages: [{ role: "user", content: text }], ...more };
}

/** The data of each server-sent event. */
export function eventsOf(text: string): string[] {
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => event.replace(/^data: /, ""));
}

/** The body as JSON, to look into. */
export async function jsonOf(response: Response) {
  return JSON.parse(await response.text());
}
