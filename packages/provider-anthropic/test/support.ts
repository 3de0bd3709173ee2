import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { LLMClient, ModelEvent, ModelRequest, ModelResponse } from "@ravi/kernel";
import { anthropic, type AnthropicOptions } from "@ravi/provider-anthropic";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  /** Resolves when its answer is over: sent to its end, or given up by the client. */
  readonly over: Promise<unknown>;
  readonly port: number | undefined;
}

export interface ByteServer {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** The n-th request, from 0, once it has come. */
  nth(n: number): Promise<Received>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that sends exactly the bytes that a test writes. */
export async function byteServer(
  write: (response: ServerResponse, received: Received, n: number) => unknown,
): Promise<ByteServer> {
  const received: Received[] = [];
  const waiting: PromiseWithResolvers<Received>[] = [];
  const slot = (n: number): PromiseWithResolvers<Received> => (waiting[n] ??= Promise.withResolvers());
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (bytes: Buffer) => pieces.push(bytes));
    request.on("end", () => {
      const n = received.length;
      const one: Received = {
        path: request.url ?? "",
        headers: request.headers,
        body: JSON.parse(Buffer.concat(pieces).toString("utf8")) as Received["body"],
        over: once(response, "close"),
        port: request.socket.remotePort,
      };
      received.push(one);
      slot(n).resolve(one);
      write(response, one, n);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    nth: (n) => slot(n).promise,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export type Cut = (bytes: Buffer) => readonly Buffer[];

const RUNS = process.env["RAVI_LONG"] ? 200 : 1;

/** Every way in which the bytes of a case go over the wire. */
export const CUTS: readonly (readonly [string, Cut])[] = [
  ["whole", (bytes) => [bytes]],
  ["byte by byte", (bytes) => Array.from(bytes, (byte) => Buffer.of(byte))],
  ...Array.from({ length: RUNS }, (_, seed): [string, Cut] => [`at the cuts of seed ${seed}`, cutBy(seed)]),
];

function cutBy(seed: number): Cut {
  return (bytes) => {
    const pieces: Buffer[] = [];
    let state = seed * 7919 + 1;
    for (let at = 0; at < bytes.length;) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const size = 1 + ((state >>> 16) % 37);
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return pieces;
  };
}

export const HELLO: ModelRequest = { messages: [{ role: "user", content: "hello" }], maxOutputTokens: 1_000 };

export function client(server: { readonly url: string }, options: AnthropicOptions = {}): LLMClient {
  return anthropic("test-model", { baseURL: server.url, apiKey: "sk-ant-test-0001", ...options });
}

export interface Streamed {
  readonly events: readonly ModelEvent[];
  readonly response: ModelResponse;
}

/** Reads a stream to its end, which has to be its one finish. */
export async function streamed(model: LLMClient, request = HELLO, signal?: AbortSignal): Promise<Streamed> {
  const events: ModelEvent[] = [];
  for await (const one of model.stream?.(request, { signal }) ?? []) events.push(one);
  const [finish, ...more] = events.filter(({ type }) => type === "finish");
  if (finish?.type !== "finish" || more.length > 0 || events.at(-1) !== finish) {
    throw new Error("a stream ends in exactly one finish");
  }
  return { events, response: finish.response };
}

export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error,
  );
}

/** What the deltas of one kind add up to. */
export function told(events: readonly ModelEvent[], type: "text" | "reasoning"): string {
  return events.map((one) => (one.type === type ? one.delta : "")).join("");
}

/** One event of a stream, named by its type as Anthropic does. */
export function event(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export const START = event("message_start", {
  message: { id: "msg_1", model: "m-1", content: [], usage: { input_tokens: 5, output_tokens: 1 } },
});
export const STOP = event("message_stop");

export function open(index: number, block: object): string {
  return event("content_block_start", { index, content_block: block });
}

export function piece(index: number, delta: object): string {
  return event("content_block_delta", { index, delta });
}

export function close(index: number): string {
  return event("content_block_stop", { index });
}

export function text(index: number, ...pieces: readonly string[]): string {
  const deltas = pieces.map((said) => piece(index, { type: "text_delta", text: said }));
  return open(index, { type: "text", text: "" }) + deltas.join("") + close(index);
}

export function call(index: number, name: string, ...pieces: readonly string[]): string {
  const deltas = pieces.map((json) => piece(index, { type: "input_json_delta", partial_json: json }));
  return (
    open(index, { type: "tool_use", id: `toolu_${index}`, name, input: {} }) + deltas.join("") + close(index)
  );
}

/** The end of an answer, with its usage. */
export function ended(reason: string | null = "end_turn", usage: unknown = { output_tokens: 2 }): string {
  return event("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage }) + STOP;
}
