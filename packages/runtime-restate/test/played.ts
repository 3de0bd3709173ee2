import { createServer } from "node:http";
import type { CreateRunContext, JsonObject } from "@ravi/kernel";
import { restateRuntime, type RestateRuntime, type RestateRuntimeOptions } from "../src/index.ts";

export const createContext: CreateRunContext = () => {
  throw new Error("nobody works here");
};

const outcome = { status: "completed", result: { status: "completed", output: "done", stopReason: "done" } };
/** How a run stands that has completed. */
export const OVER = { known: true, version: 1, status: "over", result: outcome };

/** What a server answers, by the last part of the path: always the same, what a function makes of the message, or a failure. */
export type Answers = Readonly<Record<string, unknown>>;

/** A server that answers as told, and what it was asked. */
export async function played(
  answers: Answers,
  act: (runtime: RestateRuntime, asked: Map<string, unknown>) => Promise<void>,
  options: Partial<RestateRuntimeOptions> = {},
): Promise<void> {
  const asked = new Map<string, unknown>();
  const server = createServer((request, response) => {
    void (async () => {
      const said = (await Array.fromAsync(request)).join("");
      const path = String(request.url).split("/");
      const handler = path.at(-1) ?? "";
      const message = said === "" ? null : (JSON.parse(said) as JsonObject);
      asked.set(handler, message);
      const answer = answers[handler];
      const made: unknown = typeof answer === "function" ? await answer(message, path.at(-2)) : answer;
      response.setHeader("content-type", "application/json");
      if (made instanceof Error) response.statusCode = 500;
      response.end(JSON.stringify(made instanceof Error ? { message: made.message } : (made ?? null)));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;
  const runtime = restateRuntime({ createContext, ...options, ingress: url, admin: url });
  try {
    await act(runtime, asked);
  } finally {
    await runtime.close();
    server.closeAllConnections();
    server.close();
  }
}
