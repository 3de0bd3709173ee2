import type {
  AbortSignalLike,
  LLMClient,
  MaybePromise,
  ModelEvent,
  ModelRequest,
  ModelResponse,
} from "@ravi/kernel";
import type { Answer } from "../../answers/answer.ts";
import type { Script } from "../../answers/script.ts";

/**
 * What a provider, or the server that it is tried against, may lack. A suite names what is missing; the cases that need it
 * are left out, and all others run.
 */
export type ModelAbility =
  /** `stream` is there. */
  | "streaming"
  | "reasoning"
  | "tools"
  | "toolChoice"
  | "structuredOutput"
  | "images"
  | "files"
  | "temperature"
  | "topP"
  | "maxOutputTokens"
  | "stop"
  | "seed"
  /** Usage beyond input and output, as the server can say it. */
  | "cachedUsage"
  | "cacheWriteUsage"
  | "reasoningUsage"
  /** The server can leave its usage out. */
  | "silentUsage"
  /** The server can end an answer so. */
  | "length"
  /** By length also in the middle of calls. */
  | "cutCalls"
  | "refused"
  | "filtered"
  /** The server can fail so: `status` with a status and headers, the others as the faults of an answer. */
  | "status"
  /** Its refusals of any status can carry Retry-After. */
  | "retryAfter"
  | "cut"
  | "errorEvent"
  | "unfinished"
  | "malformed"
  | "hang"
  /** The client gives up on a silent server after `idleTimeoutMs`. */
  | "idleTimeout"
  /** The script's call carries a `signal` that aborts when the client has gone. */
  | "seesClose"
  /** The script's call carries the `idempotencyKey` that came. */
  | "idempotencyKey"
  /** The client sends `setup.apiKey`. */
  | "secrets"
  /** The script sees the requests. */
  | "seesRequests"
  /** What the script sees went over a wire in the server's own protocol. */
  | "translates";

export interface ModelSetup {
  /** What the server answers. Called once for each request that reaches it. */
  readonly script: Script<unknown>;
  /** To be sent as the key. It must be in no error. */
  readonly apiKey: string;
  /** What the client's own idle limit must be; its default where it is undefined. */
  readonly idleTimeoutMs: number | undefined;
}

/** A client and the server that it speaks with. */
export interface ModelUnderTest {
  readonly client: LLMClient;
  /** All requests that came, also those that never reached the script, such as refused ones. */
  readonly requests?: (() => number) | undefined;
  readonly close?: (() => MaybePromise<void>) | undefined;
}

export type OpenModel = (setup: ModelSetup) => MaybePromise<ModelUnderTest>;

/** What the server was asked. */
export interface Asked {
  readonly request: ModelRequest;
  readonly signal: AbortSignalLike | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface OpenedModel {
  readonly client: LLMClient;
  /** In the order of arrival. */
  readonly asked: readonly Asked[];
  /** How many requests the server had. */
  readonly requests: () => number;
  /** Resolves when the n-th request, from 1, has come. */
  readonly arrived: (n: number) => Promise<Asked>;
}

/** What a case plays on. */
export interface ModelStage {
  open(
    answers: readonly Answer[] | ((request: ModelRequest, index: number) => Answer),
    more?: { readonly idleTimeoutMs?: number | undefined },
  ): Promise<OpenedModel>;
  has(ability: ModelAbility): boolean;
}

export interface ModelCase {
  /** The number in the checklist, and what it asks for. */
  readonly rule: string;
  readonly says: string;
  /** The case is left out where one of these is missing. */
  readonly needs?: readonly ModelAbility[];
  readonly run: (stage: ModelStage) => Promise<void>;
}

/** Looks like a key, and stands in nothing else. */
export const CANARY = "sk-canary-7f3a9c1e5b2d8046";

/** Only a guard against a hang. */
export const PATIENCE_MS = 60_000;

export function ask(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", content: text }], ...more };
}

/** The two ways to call a model, as one: both give the response. A stream has to keep its contract. */
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

/** Reads a stream to its end: any events, then exactly one finish, then nothing. */
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

/** What somebody is told whose client cannot stream: it need not, but the suite has to know. */
export const NO_STREAM =
  'the client has no stream; give it one, or leave those cases out: describeModel(name, { open, without: ["streaming"] })';

export function streamOf(
  client: LLMClient,
  request: ModelRequest,
  options?: Parameters<LLMClient["generate"]>[1],
): AsyncIterable<ModelEvent> {
  if (client.stream === undefined) throw new Error(NO_STREAM);
  return client.stream(request, options);
}

/** What a promise gives, or an error when it takes for ever. */
export async function promptly<T>(what: string, promise: PromiseLike<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not settle`)), PATIENCE_MS / 3);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a promise fails with. */
export async function failureOf(what: string, promise: PromiseLike<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promptly(what, promise);
  } catch (error) {
    if (error instanceof Error && error.message === `${what} did not settle`) throw error;
    return error;
  }
  throw new Error(`${what} should have failed, and gave ${JSON.stringify(value)}`);
}
