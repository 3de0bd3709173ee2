import { request } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type OpenPage, openPage, type PageOptions, type WatchedRuns } from "@ravi/devtools";
import { type Agent, AgentId, type AgentResult, type RunContext } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";

export function runtimeWithJournal(): Runtime {
  const runtime = new Runtime({ journal: new MemoryJournal() });
  onTestFinished(() => runtime.close());
  return runtime;
}

export const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });

export function agentOf(name: string, act: (ctx: RunContext) => Promise<AgentResult>): Agent {
  return { id: AgentId(name), run: act };
}

/** Asks for a colour, and says it. */
export const painter: Agent = agentOf("painter", async (ctx) => done(String(await ctx.waitFor("colour"))));

export async function opened(runs: WatchedRuns, options?: PageOptions): Promise<OpenPage> {
  const page = await openPage(runs, options);
  onTestFinished(() => page.close());
  return page;
}

export interface Answer {
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

/** Until a run waits for somebody. */
export async function waiting(runtime: Runtime): Promise<void> {
  while (!(await runtime.list()).some(({ waitingFor = [] }) => waitingFor.length > 0)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
