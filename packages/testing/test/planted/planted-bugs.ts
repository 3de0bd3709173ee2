import {
  CancellationError,
  type ChatMessage,
  isCancellation,
  isRaviError,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  ProviderError,
  textOf,
} from "@ravi/kernel";
import type { ModelSetup } from "../../src/suites/index.ts";
import { clientOf, type Decisions, HONEST } from "./honest-client.ts";

export interface PlantedBug {
  readonly says: string;
  /** Part of what the case says that must fail. */
  readonly caughtBy: string;
  readonly plant: (setup: ModelSetup) => LLMClient;
}

/** A wrong decision. */
function decides(says: string, caughtBy: string, wrong: Partial<Decisions>): PlantedBug {
  return { says, caughtBy, plant: (setup) => clientOf(setup, { ...HONEST, ...wrong }) };
}

/** A wrong answer, streamed or not. */
function answers(
  says: string,
  caughtBy: string,
  spoil: (response: ModelResponse) => ModelResponse,
): PlantedBug {
  const tell = (event: ModelEvent): readonly ModelEvent[] =>
    event.type === "finish" ? [{ type: "finish", response: spoil(event.response) }] : [event];
  return {
    says,
    caughtBy,
    plant(setup) {
      const honest = clientOf(setup, { ...HONEST, tell });
      return {
        ...honest,
        generate: async (request, options) => spoil(await honest.generate(request, options)),
      };
    },
  };
}

/** A wrong request. */
function sends(says: string, caughtBy: string, spoil: (request: ModelRequest) => ModelRequest): PlantedBug {
  return decides(says, caughtBy, { send: (request) => spoil(HONEST.send(request)) });
}

function messages(
  request: ModelRequest,
  change: (message: ChatMessage) => readonly ChatMessage[],
): ModelRequest {
  return { ...request, messages: request.messages.flatMap(change) };
}

const withCalls = (
  response: ModelResponse,
  change: (call: NonNullable<ModelResponse["message"]["toolCalls"]>[number], n: number) => object,
): ModelResponse => {
  const toolCalls = response.message.toolCalls?.map((call, n) => ({ ...call, ...change(call, n) }));
  return { ...response, message: { ...response.message, ...(toolCalls === undefined ? {} : { toolCalls }) } };
};

const FINISHES = "after the end of a stream nothing follows";

export const PLANTED: readonly PlantedBug[] = [
  decides("drops pieces of the text", "deltas of the text add up", {
    tell: (event) => (event.type === "text" && event.delta.includes("back") ? [] : [event]),
  }),
  decides("finishes twice", "a streamed answer is the same", {
    tell: (event) => (event.type === "finish" ? [event, event] : [event]),
  }),
  decides("says something after the finish", FINISHES, {
    tell: (event) => (event.type === "finish" ? [event, { type: "text", delta: "PS" }] : [event]),
  }),
  decides("never finishes", FINISHES, { tell: (event) => (event.type === "finish" ? [] : [event]) }),
  decides("takes an end without a finish for one", "ends politely before its finish", {
    requiresFinish: false,
    tell: (event) => [event],
  }),
  decides("streams reasoning as text", "deltas of the reasoning add up", {
    tell: (event) => (event.type === "reasoning" ? [{ type: "text", delta: event.delta }] : [event]),
  }),
  decides("opens a tool call without its name", "events of a tool call open with id and name", {
    tell: (event) =>
      event.type === "toolCall" ? [{ type: "toolCall", index: event.index, delta: event.delta }] : [event],
  }),
  answers("puts reasoning into the text", "reasoning is kept apart", (response) => {
    const { content } = response.message;
    const text =
      typeof content === "string"
        ? content
        : content.map((part) => ("text" in part ? part.text : "")).join("");
    return { ...response, message: { ...response.message, content: text } };
  }),
  answers("always ends with stop", "ended as length", (response) => ({ ...response, finishReason: "stop" })),
  answers("takes a refusal for an answer", "ended as refused", (response) => ({
    ...response,
    finishReason: "stop",
  })),
  answers("counts what nobody said as nothing", "left out, not zero", (response) => ({
    ...response,
    usage: response.usage ?? { inputTokens: 0, outputTokens: 0 },
  })),
  answers("takes the cached tokens off the input", "cached input", (response) => ({
    ...response,
    usage: { outputTokens: 17, cachedInputTokens: 90, inputTokens: 30 },
  })),
  answers("loses the ids of tool calls", "16 tool calls", (response) =>
    withCalls(response, () => ({ id: "call" })),
  ),
  answers("makes ids of its own", "the ids are the server's", (response) =>
    withCalls(response, (_, n) => ({ id: `c${n}` })),
  ),
  answers("drops a tool call", "128 tool calls", (response) => {
    const toolCalls = response.message.toolCalls?.slice(0, 127) ?? [];
    return { ...response, message: { ...response.message, toolCalls } };
  }),
  answers("cuts long arguments", "20,000 characters", (response) =>
    withCalls(response, (call) => ({ arguments: `${call.arguments.slice(0, 4_000)}"}` })),
  ),
  sends("drops the system prompt", "the system prompt and the turns", (request) =>
    messages(request, (message) => (message.role === "system" ? [] : [message])),
  ),
  sends("forgets the temperature", "temperature reaches the server", (request) => ({
    ...request,
    temperature: undefined,
  })),
  sends("sends a temperature that nobody gave", "temperature reaches the server", (request) => ({
    temperature: 1,
    ...request,
  })),
  sends("forgets the shape of the answer", "the shape that the answer must have", (request) => ({
    ...request,
    output: undefined,
  })),
  sends("drops images", "an image of the user's", (request) =>
    messages(request, (message) => [{ ...message, content: "What is this?" }]),
  ),
  sends("empties files", "a file of the user's", (request) =>
    messages(request, (message) => {
      if (message.role !== "user" || typeof message.content === "string") return [message];
      const content = message.content.map((part) =>
        part.type === "file" ? { ...part, url: "data:application/pdf;base64," } : part,
      );
      return [{ ...message, content }];
    }),
  ),
  sends("drops a tool's result", "tool calls and their results go back", (request) =>
    messages(request, (message) => (message.role === "tool" ? [] : [message])),
  ),
  sends("cuts ids so that two are the same", "a conversation that another provider made", (request) =>
    messages(request, (message) => {
      if (message.role === "tool") return [{ ...message, toolCallId: message.toolCallId.slice(0, 40) }];
      if (message.role !== "assistant" || message.toolCalls === undefined) return [message];
      return [
        { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: call.id.slice(0, 40) })) },
      ];
    }),
  ),
  sends("cannot send back what is no JSON", "broken JSON can go back", (request) => {
    for (const message of request.messages) {
      if (message.role === "assistant")
        for (const call of message.toolCalls ?? []) JSON.parse(call.arguments);
    }
    return request;
  }),
  sends("cannot send back names that it does not know", "a tool that the model invented", (request) => {
    for (const message of request.messages) {
      if (message.role === "assistant")
        for (const { name } of message.toolCalls ?? []) if (name !== "search") throw new Error("bad name");
    }
    return request;
  }),
  sends("sends halves of letters", "hostile arguments and halves of letters", (request) => {
    if (!request.messages.every((message) => textOf(message).isWellFormed()))
      throw new Error("not valid UTF-8");
    return request;
  }),
  {
    says: "sends what only another provider can read",
    caughtBy: "a conversation that another provider made",
    plant: (setup) => clientOf(setup, { ...HONEST, send: (request) => structuredClone(request) }),
  },
  {
    says: "writes into the request",
    caughtBy: "frozen to the ground",
    plant(setup) {
      const honest = clientOf(setup);
      return {
        ...honest,
        generate: (request, options) => honest.generate(Object.assign(request, { model: "mine" }), options),
      };
    },
  },
  {
    says: "mixes calls that run at once",
    caughtBy: "twenty calls at once",
    plant(setup) {
      const honest = clientOf(setup);
      let last: ModelRequest | undefined;
      return {
        ...honest,
        async generate(request, options) {
          last = request;
          await Promise.resolve();
          return honest.generate(last, options);
        },
      };
    },
  },
  decides("retries by itself", "status 500", { attempts: 2 }),
  {
    says: "asks twice to be sure",
    caughtBy: "one call is one request",
    plant(setup) {
      const honest = clientOf(setup);
      return {
        ...honest,
        async generate(request, options) {
          await honest.generate(request, options);
          return honest.generate(request, options);
        },
      };
    },
  },
  decides("drops the idempotency key", "the idempotency key reaches", { key: () => undefined }),
  decides("does not look at the signal", "aborted before sends nothing", { signal: () => undefined }),
  decides("reports an abort as an error of the provider", "an abort while the server is silent", {
    explain: (error) =>
      isCancellation(error) ? new ProviderError({ kind: "UNKNOWN", message: "aborted" }) : error,
  }),
  decides("loses the reason of an abort", "an abort in the middle of a stream", {
    explain: (error) => (isCancellation(error) ? new CancellationError({ reason: "aborted" }) : error),
  }),
  {
    says: "ends a stream quietly when it is aborted",
    caughtBy: "an abort in the middle of a stream",
    plant(setup) {
      const honest = clientOf(setup);
      return {
        ...honest,
        async *stream(request, options) {
          try {
            yield* honest.stream?.(request, options) ?? [];
          } catch (error) {
            if (!isCancellation(error)) throw error;
          }
        },
      };
    },
  },
  {
    says: "leaves a listener on the signal",
    caughtBy: "leaves no listener",
    plant(setup) {
      const honest = clientOf(setup);
      return {
        ...honest,
        generate(request, options) {
          options?.signal?.addEventListener("abort", () => undefined);
          return honest.generate(request, options);
        },
      };
    },
  },
  {
    says: "leaves a listener where its stream is left",
    caughtBy: "left before its end",
    plant(setup) {
      const honest = clientOf(setup);
      return {
        ...honest,
        async *stream(request, options) {
          const listen = (): void => undefined;
          options?.signal?.addEventListener("abort", listen);
          yield* honest.stream?.(request, options) ?? [];
          options?.signal?.removeEventListener("abort", listen);
        },
      };
    },
  },
  decides("throws errors of its own", "status 401", { explain: (error) => new Error(String(error)) }),
  decides("takes every status for one that can be tried again", "status 402", {
    explain: (error) => spoiled(error, { kind: "SERVER_ERROR" }),
  }),
  decides("forgets Retry-After", "Retry-After is read", {
    explain: (error) => spoiled(error, { retryAfterMs: undefined }),
  }),
  decides("shows the key", "a key that the server repeats", { explain: (error) => error }),
  decides("shows the conversation", "the conversation is in no error", {
    explain: () => new ProviderError({ kind: "FORMAT_ERROR", message: "my password is hunter-2-canary" }),
  }),
  decides("waits for ever for a silent server, then calls it an error", "falls silent in the middle", {
    explain: (error) => spoiled(error, { kind: "SERVER_ERROR" }),
  }),
];

function spoiled(error: unknown, wrong: Partial<Pick<ProviderError, "kind" | "retryAfterMs">>): unknown {
  if (!isRaviError(error, "PROVIDER_ERROR")) return error;
  const { kind, status, retryAfterMs, message } = error;
  return new ProviderError({ kind, status, retryAfterMs, message, ...wrong });
}
