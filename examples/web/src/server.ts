import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isRaviError } from "@ravi/sdk";
import type { Chats } from "./chats.ts";
import { rawEvents, uiEvents } from "./events.ts";
import { HttpError, readJson, sendEvents, sendJson } from "./http.ts";
import { answersIn, textIn } from "./ui-request.ts";

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/list.js": ["list.js", "text/javascript; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/view.js": ["view.js", "text/javascript; charset=utf-8"],
};

/**
 * Nothing from elsewhere, and no script in the page: what a model writes cannot become one. No other site shows the page in a frame: it could
 * lead the user to click "Approve" without knowing.
 */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};

interface Call {
  readonly chats: Chats;
  readonly needsApproval: ReadonlySet<string>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What stands in the path. */
  readonly id: string;
}

/** `POST /api/chat` and `GET /api/chat/:id/stream` are for `useChat`; the page uses the others. */
const ROUTES: readonly (readonly [method: string, path: RegExp, (call: Call) => Promise<void>])[] = [
  ["GET", /^\/api\/chats\/([\w-]{1,64})$/, showChat],
  ["POST", /^\/api\/chats\/([\w-]{1,64})\/messages$/, say],
  ["GET", /^\/api\/runs\/([\w.:-]{1,99})\/events$/, watch],
  ["POST", /^\/api\/runs\/([\w.:-]{1,99})\/answers$/, answer],
  ["POST", /^\/api\/runs\/([\w.:-]{1,99})\/stop$/, stop],
  ["POST", /^\/api\/(chat)$/, useChat],
  ["GET", /^\/api\/chat\/([\w-]{1,64})\/stream$/, useChatAgain],
];

const LOOPBACK = /^(?:localhost|127\.0\.0\.1)(?::\d+)?$/;

/** A page on another site must not read chats or approve anything: neither by a name of its own that leads here, nor from its origin. */
function checkSite({ headers: { host = "", origin } }: IncomingMessage): void {
  const isOwn = origin === undefined || LOOPBACK.test(origin.replace(/^http:\/\//, ""));
  if (!LOOPBACK.test(host) || !isOwn)
    throw new HttpError(403, "only pages on this machine may call this server");
}

export function createWeb(chats: Chats, needsApproval: ReadonlySet<string>): Server {
  return createServer((request, response) => {
    handle({ chats, needsApproval, request, response }).catch((error: unknown) => fail(response, error));
  });
}

async function handle(call: Omit<Call, "id">): Promise<void> {
  const { request, response } = call;
  checkSite(request);
  const [pathname = "/"] = (request.url ?? "/").split("?", 1);
  const file = FILES[pathname];
  if (request.method === "GET" && file !== undefined) {
    const [name, type] = file;
    const body = await readFile(new URL(`../public/${name}`, import.meta.url));
    response.writeHead(200, { ...HEADERS, "content-type": type }).end(body);
    return;
  }
  for (const [method, path, act] of ROUTES) {
    const found = method === request.method ? path.exec(pathname) : null;
    if (found !== null) return act({ ...call, id: found[1] ?? "" });
  }
  throw new HttpError(404, `there is no ${request.method} ${pathname}`);
}

/** In characters. Each turn sends all that was said before: after a message as large as the budget of a turn, none could be answered. */
const LONGEST = 50_000;

function checkLength({ length }: string): void {
  if (length > LONGEST)
    throw new HttpError(413, `a message may have ${LONGEST} characters; this one has ${length}`);
}

async function showChat({ chats, response, id }: Call): Promise<void> {
  sendJson(response, 200, await chats.show(id));
}

async function say({ chats, request, response, id }: Call): Promise<void> {
  const { text } = await readJson(request);
  if (typeof text !== "string" || text.trim() === "") throw new HttpError(400, "text must be a text");
  checkLength(text);
  // The turn is on record now: whatever happens to this process, it continues.
  sendJson(response, 202, { runId: (await chats.say(id, text)).runId });
}

async function watch({ chats, request, response, id }: Call): Promise<void> {
  const turn = chats.turn(id);
  // 204 tells a browser not to connect again. What such a turn has said is in the chat, or is told by another process.
  if (turn === undefined || !(turn.isHere || turn.hasEnded)) return void response.writeHead(204).end();
  const lastId = request.headers["last-event-id"]?.toString();
  return sendEvents(response, {}, (left) => rawEvents(turn, lastId, left));
}

async function answer({ chats, request, response, id }: Call): Promise<void> {
  const { name, approved, reason } = await readJson(request);
  if (typeof name !== "string" || typeof approved !== "boolean")
    throw new HttpError(400, "expected { name, approved, reason? }");
  const why = typeof reason === "string" ? reason : undefined;
  if ((await chats.turn(id)?.answer(name, approved, why)) !== true)
    throw new HttpError(409, "there is no such question, or it was answered already");
  sendJson(response, 200, {});
}

async function stop({ chats, response, id }: Call): Promise<void> {
  const turn = chats.turn(id);
  if (turn === undefined) throw new HttpError(404, "there is no such turn here");
  sendJson(response, 200, { status: await turn.stop() });
}

/** Marks a response for `useChat`. */
const UI_STREAM = { "x-vercel-ai-ui-message-stream": "v1" };

async function useChat({ chats, needsApproval, request, response }: Call): Promise<void> {
  const { id, messages } = await readJson(request);
  if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id))
    throw new HttpError(400, "id must be that of a chat");
  const answers = answersIn(messages);
  if (answers.length === 0) {
    const text = textIn(messages);
    if (text.trim() === "") throw new HttpError(400, "the last message must be one of the user, with a text");
    checkLength(text);
    const turn = await chats.say(id, text);
    return sendEvents(response, UI_STREAM, (left) => uiEvents(turn, { needsApproval }, left));
  }
  const turn = chats.current(id);
  const isOpen = answers.some(({ name }) => turn?.isOpen(name) === true);
  if (turn === undefined || !isOpen) throw new HttpError(409, "nothing waits for these answers");
  const answered = answers.map(({ name }) => name);
  for (const { name, approved, reason } of answers) await turn.answer(name, approved, reason);
  return sendEvents(response, UI_STREAM, (left) => uiEvents(turn, { needsApproval, answered }, left));
}

/** For `useChat({ resume: true })`, after the page was loaded again. */
async function useChatAgain({ chats, needsApproval, response, id }: Call): Promise<void> {
  const turn = chats.current(id);
  if (turn === undefined) return void response.writeHead(204).end();
  return sendEvents(response, UI_STREAM, (left) => uiEvents(turn, { needsApproval }, left));
}

function fail(response: ServerResponse, error: unknown): void {
  // A second message while the first is answered, here or by another process, or a wrong one, is the client's mistake.
  const known = isRaviError(error, "INVALID_VALUE") || isRaviError(error, "JOURNAL_LOCKED") ? 409 : 500;
  const status = error instanceof HttpError ? error.status : known;
  if (status === 500) console.error(error);
  if (response.headersSent) return void response.destroy();
  sendJson(response, status, { error: error instanceof Error ? error.message : String(error) });
}
