import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "@ravi/sdk";
import { onTestFinished } from "vitest";
import { Chats, type Shown } from "../src/chats.ts";
import { concierge, NEEDS_APPROVAL } from "../src/concierge.ts";
import { createWeb } from "../src/server.ts";

export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ravi-web-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** The server in this process. */
export async function serve(dir?: string): Promise<Client> {
  const chats = new Chats(concierge(undefined), dir ?? (await folder()));
  const server = createWeb(chats, NEEDS_APPROVAL).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    await chats.close();
    server.closeAllConnections();
  });
  return new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

export interface ServerEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** What a browser does. */
export class Client {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async post(path: string, body: unknown): Promise<{ readonly status: number; readonly json: Answer }> {
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Answer };
  }

  async say(chatId: string, text: string): Promise<string> {
    const { json } = await this.post(`/api/chats/${chatId}/messages`, { text });
    return json.runId ?? `no run: ${json.error}`;
  }

  async chat(chatId: string): Promise<Shown> {
    const response = await fetch(`${this.url}/api/chats/${chatId}`);
    return (await response.json()) as Shown;
  }

  /** The events of a run, until the stream ends or the reader leaves. */
  async *watch(runId: string, lastEventId?: string): AsyncGenerator<ServerEvent, void, undefined> {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    yield* events(await fetch(`${this.url}/api/runs/${runId}/events`, { headers }));
  }
}

interface Answer {
  readonly runId?: string;
  readonly error?: string;
  readonly status?: string;
}

/** Server-sent events, as a browser reads them. If the reader leaves, so does the connection. */
export async function* events(response: Response): AsyncGenerator<ServerEvent, void, undefined> {
  if (response.body === null) return;
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
      );
      if ("data" in fields) yield { data: "", ...fields };
    }
  }
}

export function runEvent({ data }: ServerEvent): RunEvent {
  return JSON.parse(data) as RunEvent;
}

/** The name of the question that an event asks; undefined if it asks none. */
export function questionIn(event: ServerEvent): string | undefined {
  const { event: told } = runEvent(event);
  if (told?.type !== "progress" || told.name !== "approvalRequested") return undefined;
  return (told.data as { name: string }).name;
}

/** All text that was streamed. */
export function textIn(list: readonly ServerEvent[]): string {
  return list
    .filter(({ event }) => event === undefined)
    .map((each) => runEvent(each).event)
    .map((event) => (event.type === "text" ? event.delta : ""))
    .join("");
}
