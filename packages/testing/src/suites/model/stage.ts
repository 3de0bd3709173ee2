import type {
  AbortSignalLike,
  LLMClient,
  MaybePromise,
  ModelEvent,
  ModelRequest,
  ModelResponse,
} from "@ravi/kernel";
import { type SuiteCase, within } from "../case.ts";
import type { Answer } from "../../answers/answer.ts";
import type { Script } from "../../answers/script.ts";

/**
 * What a provider, or the server that it is tested with, may lack. A suite lists what is missing in `without`; the cases that
 * need it are left out.
 */
export type ModelAbility =
  /** The client has `stream`. */
  | "streaming"
  | "reasoning"
  | "tools"
  /** The server gives each tool call an id. Where it does not, the client makes one up. */
  | "callIds"
  | "toolChoice"
  | "structuredOutput"
  | "images"
  | "files"
  | "temperature"
  | "topP"
  | "maxOutputTokens"
  | "stop"
  | "seed"
  /** The server can report usage beyond input and output. */
  | "cachedUsage"
  | "cacheWriteUsage"
  | "reasoningUsage"
  /** The server can leave out its usage. */
  | "silentUsage"
  /** The server can end an answer for this reason. */
  | "length"
  /** It can do so by length in the middle of tool calls, too. */
  | "cutCalls"
  | "refused"
  | "filtered"
  /** The server can fail in this way: `status` with a status and headers, the others as the faults of an answer. */
  | "status"
  /** Refusals of any status can have a Retry-After header. */
  | "retryAfter"
  | "cut"
  | "errorEvent"
  | "unfinished"
  | "malformed"
  | "hang"
  /** The client gives up on a silent server after `idleTimeoutMs`. */
  | "idleTimeout"
  /** The script's call has a `signal` that aborts when the client has gone. */
  | "seesClose"
  /** The script's call has the `idempotencyKey` that the client sent. */
  | "idempotencyKey"
  /** The client sends `setup.apiKey`. */
  | "secrets"
  /** The script gets the requests. */
  | "seesRequests"
  /** The requests that the script gets went over a network in the server's own protocol. */
  | "translates";

/** What `open` of a `ModelSuite` gets. */
export interface ModelSetup {
  /** The server's answers. Called once for each request that reaches it. */
  readonly script: Script<unknown>;
  /** To be sent as the API key. No error may contain it. */
  readonly apiKey: string;
  /** The idle limit that the client must have, in milliseconds. Undefined: its default. */
  readonly idleTimeoutMs: number | undefined;
}

/** A client and the server that it talks to. */
export interface ModelUnderTest {
  readonly client: LLMClient;
  /**
   * The number of all requests that came, including those that never reached the script, such as refused ones. Default: those
   * that reached the script.
   */
  readonly requests?: (() => number) | undefined;
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** Opens a new client and server for one case. */
export type OpenModel = (setup: ModelSetup) => MaybePromise<ModelUnderTest>;

/** A request that reached the script. */
export interface Asked {
  readonly request: ModelRequest;
  readonly signal: AbortSignalLike | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface OpenedModel {
  readonly client: LLMClient;
  /** In the order of arrival. */
  readonly asked: readonly Asked[];
  /** The number of requests that the server received. */
  readonly requests: () => number;
  /** Resolves when the n-th request (from 1) has arrived. */
  readonly arrived: (n: number) => Promise<Asked>;
}

/** What a case works with. */
export interface ModelStage {
  open(
    answers: readonly Answer[] | ((request: ModelRequest, index: number) => Answer),
    more?: { readonly idleTimeoutMs?: number | undefined },
  ): Promise<OpenedModel>;
  has(ability: ModelAbility): boolean;
}

/** One test case. */
export type ModelCase = SuiteCase<ModelStage, readonly ModelAbility[]>;

/** Looks like an API key and occurs nowhere else, so it can be searched for. */
export const CANARY = "sk-canary-7f3a9c1e5b2d8046";

/** Only a guard against hanging. */
const PATIENCE_MS = 20_000;

export function ask(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", content: text }], ...more };
}

/**
 * One of the two ways to call a model, `generate` or `stream`. Both return the response, and a stream is checked against its
 * contract.
 */
export interface Way {
  readonly name: "generate" | "stream";
  call(
    client: LLMClient,
    request: ModelRequest,
    options?: Parameters<LLMClient["generate"]>[1],
  ): Promise<ModelResponse>;
}

const whole: Way = {
  name: "generate",
  call: async (client, request, options) => client.generate(request, options),
};

const streamed: Way = {
  name: "stream",
  call: async (client, request, options) => (await readStream(client, request, options)).response,
};

export function waysOf(stage: ModelStage): readonly Way[] {
  return stage.has("streaming") ? [whole, streamed] : [whole];
}

export interface ReadStream {
  readonly events: readonly ModelEvent[];
  readonly response: ModelResponse;
}

/** Reads a stream to its end, and checks it: any events, then exactly one finish, then nothing. */
export async function readStream(
  client: LLMClient,
  request: ModelRequest,
  options?: Parameters<LLMClient["generate"]>[1],
): Promise<ReadStream> {
  const events: ModelEvent[] = [];
  for await (const event of streamOf(client, request, options)) events.push(event);
  const finishes = events.filter((event) => event.type === "finish").length;
  const last = events.at(-1);
  if (finishes !== 1 || last?.type !== "finish") {
    const order = events.map(({ type }) => type).join(", ");
    throw new Error(`a stream ends with exactly one finish; this one had: ${order || "nothing"}`);
  }
  return { events, response: last.response };
}

/** The error for a client without `stream`, which is optional but has to be declared to the suite. */
export const NO_STREAM =
  'the client has no stream method; add one, or leave these cases out: describeModel(name, { open, without: ["streaming"] })';

export function streamOf(
  client: LLMClient,
  request: ModelRequest,
  options?: Parameters<LLMClient["generate"]>[1],
): AsyncIterable<ModelEvent> {
  if (client.stream === undefined) throw new Error(NO_STREAM);
  return client.stream(request, options);
}

/** The value of a promise, or an error if it does not settle. */
export function promptly<T>(what: string, promise: PromiseLike<T>): Promise<T> {
  return within(PATIENCE_MS, what, promise);
}

/** What a promise rejects with. Fails if it resolves. */
export async function failureOf(what: string, promise: PromiseLike<unknown>): Promise<unknown> {
  const settled = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  const outcome = await promptly(what, settled);
  if ("error" in outcome) return outcome.error;
  throw new Error(`${what} should have failed, but returned ${JSON.stringify(outcome.value)}`);
}
