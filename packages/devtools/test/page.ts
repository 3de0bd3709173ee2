import { request } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type OpenPage, openPage, type PageOptions, type WatchedRuns } from "@ravi/devtools";
import type { JsonValue, RunEvent, RunReport } from "@ravi/kernel";

interface Stubbed {
  readonly list?: WatchedRuns["list"];
  readonly inspect?: WatchedRuns["inspect"];
  readonly deliver?: (runId: string, name: string, value: JsonValue) => void;
  readonly cancel?: (runId: string, reason: string) => void;
  readonly report?: object;
  readonly events?: readonly object[];
}

/** Runs of which only this is told. */
export function stub(told: Stubbed = {}): WatchedRuns {
  const { list = () => [], deliver = () => {}, cancel = () => {}, report = {}, events = [] } = told;
  return {
    list,
    inspect: told.inspect ?? (() => report as RunReport),
    recordedEvents: () => events as readonly RunEvent[],
    deliver,
    cancel,
  };
}

export async function opened(runs: WatchedRuns, options?: PageOptions): Promise<OpenPage> {
  const page = await openPage(runs, options);
  onTestFinished(() => page.close());
  return page;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Asks as any program can, with whatever headers. By default as the page itself does. */
export async function ask(
  page: OpenPage,
  path: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
): Promise<Answer> {
  const { headers = {}, body } = options;
  const sent = body === undefined ? "" : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const all = {
      authorization: `Bearer ${page.url.split("#key=")[1]}`,
      ...(method === "POST" && { "content-type": "application/json", "content-length": String(sent.length) }),
      ...headers,
    };
    const made = request({ host: "127.0.0.1", port: page.port, path, method, headers: all }, (response) => {
      text(response).then((answer) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer });
      }, reject);
    });
    made.on("error", reject);
    made.end(sent);
  });
}

export async function askJson(
  page: OpenPage,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  return JSON.parse((await ask(page, path, { body })).body) as Record<string, unknown>;
}
