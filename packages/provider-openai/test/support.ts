import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { LLMClient, Logger, ModelEvent, ModelRequest, ModelResponse } from "@ravi/kernel";
import { openai, type OpenAIOptions } from "@ravi/provider-openai";

export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly bodies: Record<string, unknown>[];
  readonly headers: IncomingMessage["headers"][];
  /** Resolves when the n-th request has come, from 1. */
  arrived(n: number): Promise<void>;
  /** Resolves when the n-th answer is over, sent to its end or given up by the client, from 1. */
  closed(n: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that sends exactly the bytes it is told to. */
export async function rawServer(
  answer: (response: ServerResponse, request: IncomingMessage, index: number) => void | Promise<void>,
): Promise<RawServer> {
  const bodies: Record<string, unknown>[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const arrivals: PromiseWithResolvers<void>[] = [];
  const endings: PromiseWithResolvers<void>[] = [];
  const at = (list: PromiseWithResolvers<void>[], n: number): PromiseWithResolvers<void> => {
    while (list.length < n) list.push(Promise.withResolvers());
    const found = list[n - 1];
    if (found === undefined) throw new RangeError("requests are counted from 1");
    return found;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const index = bodies.length;
    bodies.push(JSON.parse(Buffer.concat(pieces).toString("utf8")));
    headers.push(request.headers);
    response.once("close", () => at(endings, index + 1).resolve());
    at(arrivals, index + 1).resolve();
    await answer(response, request, index);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    bodies,
    headers,
    arrived: (n) => at(arrivals, n).promise,
    closed: (n) => at(endings, n).promise,
    async [Symbol.asyncDispose]() {
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await ended;
    },
  };
}

export type Cut = (bytes: Buffer) => Buffer[];

export const whole: Cut = (bytes) => [bytes];
const byteByByte: Cut = (bytes) => Array.from(bytes, (byte) => Buffer.from([byte]));

/** Cuts at places that a seed decides, so that a failure can be had again. */
function randomCuts(seed: number): Cut {
  let state = seed + 1;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return (bytes) => {
    const pieces: Buffer[] = [];
    for (let from = 0; from < bytes.length;) {
      const to = Math.min(bytes.length, from + 1 + Math.floor(random() * 40));
      pieces.push(bytes.subarray(from, to));
      from = to;
    }
    return pieces;
  };
}

const RUNS = process.env["RAVI_LONG"] ? 200 : 1;

/** How each case of the corpus comes over the wire. */
export const CUTS: readonly (readonly [string, Cut])[] = [
  ["whole", whole],
  ["byte by byte", byteByByte],
  ...Array.from({ length: RUNS }, (_, seed): [string, Cut] => [`cut by seed ${seed}`, randomCuts(seed)]),
];

/** Each piece becomes a chunk of its own on the wire. */
export function sendPieces(response: ServerResponse, pieces: readonly Buffer[]): void {
  for (const piece of pieces) response.write(piece);
  response.end();
}

export const HELLO: ModelRequest = { messages: [{ role: "user", content: "hello" }] };

export function client(server: { readonly url: string }, options: OpenAIOptions = {}): LLMClient {
  return openai("test-model", { baseURL: server.url, apiKey: "sk-test-key-0001", ...options });
}

export interface Streamed {
  readonly events: readonly ModelEvent[];
  readonly response: ModelResponse;
}

/** Reads a stream to its end, and makes sure that it keeps the contract: events, then exactly one finish. */
export async function streamed(model: LLMClient, request = HELLO, signal?: AbortSignal): Promise<Streamed> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream?.(request, { signal }) ?? []) events.push(event);
  const finishes = events.filter((event) => event.type === "finish");
  const last = events.at(-1);
  if (finishes.length !== 1 || last?.type !== "finish") throw new Error("not exactly one finish at the end");
  return { events, response: last.response };
}

/** What a promise fails with. */
export async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

/** The text that the deltas of a stream add up to. */
export function deltasOf(events: readonly ModelEvent[], type: "text" | "reasoning"): string {
  return events.flatMap((event) => (event.type === type ? [event.delta] : [])).join("");
}

export function frame(value: unknown): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}

/** A chunk with one choice. */
export function chunk(delta: unknown, finishReason: string | null = null): string {
  return frame({ id: "c1", model: "m", choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

export const DONE = frame("[DONE]");

export const APIS = ["chat", "responses"] as const;
export type Api = (typeof APIS)[number];

/** One event of the Responses API. */
export function sse(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The event that ends a response. */
export function terminal(output: readonly unknown[], rest: object = {}, type = "completed"): string {
  return sse(`response.${type}`, { response: { id: "r1", model: "m", status: type, output, ...rest } });
}

/** What a server says in either protocol: a piece of text, its end, and an answer that is not streamed. */
export const SPOKEN: Readonly<
  Record<
    Api,
    {
      piece(text: string): string;
      end(text: string): string;
      /** Text and its end, with nothing after it. */
      last(text: string): string;
      whole(text: string): string;
    }
  >
> = {
  chat: {
    piece: (text) => chunk({ content: text }),
    end: () => chunk({}, "stop") + DONE,
    last: (text) => chunk({ content: text }, "stop"),
    whole: (text) => JSON.stringify({ choices: [{ message: { content: text } }] }),
  },
  responses: {
    piece: textDelta,
    end: (text) => terminal([textItem(text)]),
    last: (text) => textDelta(text) + terminal([textItem(text)]),
    whole: (text) => JSON.stringify({ id: "r1", status: "completed", output: [textItem(text)] }),
  },
};

function textDelta(delta: string): string {
  return sse("response.output_text.delta", { item_id: "m1", output_index: 0, delta });
}

export function textItem(text: string, rest: object = {}): object {
  return {
    type: "message",
    id: "m1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
    ...rest,
  };
}

export function callItem(n: number, text: unknown, rest: object = {}): object {
  return {
    type: "function_call",
    id: `fc${n}`,
    call_id: `call${n}`,
    name: "f",
    arguments: text,
    status: "completed",
    ...rest,
  };
}

/** A logger that keeps what it was told. */
export function listener(): { readonly logger: Logger; readonly said: string[] } {
  const said: string[] = [];
  const note = (message: string): void => void said.push(message);
  return { said, logger: { debug: note, info: note, warn: note, error: note } };
}
