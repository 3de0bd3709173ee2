import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { JsonValue, RunReport } from "@ravi/kernel";
import { tryParse } from "@ravi/kernel/provider";
import { eventsAnswer, listAnswer, runAnswer } from "./answers.ts";
import { HttpError } from "./http-error.ts";
import type { WatchedRuns } from "./watched-runs.ts";

export interface Asked {
  readonly runs: WatchedRuns;
  readonly isReadOnly: boolean;
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  /** The id in the path. */
  readonly runId: string;
}

type Route = readonly [method: string, path: RegExp, act: (asked: Asked) => Promise<unknown>];

const ROUTES: readonly Route[] = [
  ["GET", /^\/api\/runs$/, listRuns],
  ["GET", /^\/api\/runs\/([^/]+)$/, showRun],
  ["GET", /^\/api\/runs\/([^/]+)\/events$/, showEvents],
  ["POST", /^\/api\/runs\/([^/]+)\/answers$/, answer],
  ["POST", /^\/api\/runs\/([^/]+)\/cancel$/, cancel],
];

/** Does what is asked for. Throws an `HttpError` if there is no such thing. */
export async function route(asked: Omit<Asked, "runId">, path: string): Promise<unknown> {
  const { method } = asked.request;
  const found = ROUTES.find(([wanted, pattern]) => wanted === method && pattern.test(path));
  if (found === undefined) throw new HttpError(404, `there is no ${method} ${path}`);
  const [, pattern, act] = found;
  if (method === "POST" && asked.isReadOnly) throw new HttpError(403, "this page was opened to look only");
  return act({ ...asked, runId: decoded(pattern.exec(path)?.[1] ?? "") });
}

async function listRuns({ runs, query, isReadOnly }: Asked): Promise<unknown> {
  const limit = countIn(query, "limit", 200);
  return listAnswer(await runs.list(), { limit, runId: query.get("run"), isReadOnly });
}

async function showRun({ runs, runId }: Asked): Promise<unknown> {
  return runAnswer(await runs.inspect(runId));
}

async function showEvents({ runs, runId, query }: Asked): Promise<unknown> {
  return eventsAnswer(await runs.recordedEvents(runId), countIn(query, "after", 0));
}

async function answer({ runs, runId, request }: Asked): Promise<unknown> {
  const { name, execId, since, value } = await readJson(request);
  const isWait = typeof name === "string" && typeof execId === "string" && typeof since === "number";
  if (!isWait || value === undefined) throw new HttpError(400, "expected { name, execId, since, value }");
  refuseStale(await runs.inspect(runId), { name, execId, since });
  // The id is that of `ravi approve` too: of two answers to one question, the second does not count.
  await runs.deliver(runId, name, value as JsonValue, { id: `ravi ${execId} ${since}`, mustWait: true });
  return {};
}

/** Somebody else may have answered meanwhile. Then the next wait of that name would get this answer, to a question that was not read. */
function refuseStale(
  { waitingFor = [] }: RunReport,
  asked: { readonly name: string; readonly execId: string; readonly since: number },
): void {
  const { name, execId, since } = asked;
  const next = waitingFor.find((wait) => wait.name === name);
  if (next === undefined || (next.execId === execId && next.since === since)) return;
  throw new HttpError(409, `${name} does not wait for this answer any more; another question has its place`);
}

async function cancel({ runs, runId, request }: Asked): Promise<unknown> {
  const { reason } = await readJson(request);
  if (typeof reason !== "string" || reason === "") throw new HttpError(400, "expected { reason }");
  await runs.cancel(runId, reason);
  return {};
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpError(400, `${part} is no part of an address`);
  }
}

function countIn(query: URLSearchParams, name: string, otherwise: number): number {
  const count = Number(query.get(name) ?? otherwise);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new HttpError(400, `${name} must be a whole number, not ${query.get(name)}`);
}

const MOST_BYTES = 1_000_000;

async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    throw new HttpError(415, "the content-type must be application/json");
  if (Number(request.headers["content-length"] ?? Infinity) > MOST_BYTES)
    throw new HttpError(413, `the body must have a content-length of at most ${MOST_BYTES} bytes`);
  const body = tryParse(await text(request));
  if (typeof body !== "object" || body === null) throw new HttpError(400, "the body must be a JSON object");
  return body as Readonly<Record<string, unknown>>;
}
