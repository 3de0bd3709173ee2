import {
  type CallOptions,
  classifyError,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  systemClock,
} from "@ravi/kernel";
import {
  BrokenConnection,
  type FailureVerdict,
  providerError,
  scrubber,
  startCall,
  transportVerdict,
  UnusableAnswer,
} from "@ravi/kernel/provider";

export interface HouseOptions {
  readonly baseURL: string;
  readonly apiKey: string;
  /** How many milliseconds the server may be silent. Default: 240,000. */
  readonly idleTimeoutMs?: number | undefined;
}

/** A model of the house. It sends one request per call: whoever pays decides whether to try again. */
export function house(model: string, { baseURL, apiKey, idleTimeoutMs = 240_000 }: HouseOptions): LLMClient {
  const info = { provider: "house", model };
  const scrub = scrubber([apiKey]);

  async function* stream(request: ModelRequest, options?: CallOptions): AsyncGenerator<ModelEvent> {
    // Ends at the caller's abort, and when the server is silent for too long.
    const call = startCall(options, { ...info, idleTimeoutMs, clock: systemClock, timers: globalThis });
    let response: Response | undefined;
    try {
      response = await call.wait(
        fetch(`${baseURL}/ask`, {
          method: "POST",
          headers: { authorization: `Bearer ${apiKey}` },
          body: JSON.stringify({ model, ...withoutForeign(request) }),
          signal: call.signal,
          redirect: "error", // the key and the prompt go nowhere else
        }),
      );
      if (!response.ok) throw new Error(await call.wait(response.text()));
      for await (const event of eventsOf(response, (promise) => call.wait(promise))) {
        if (event.type === "finish") call.complete(); // the connection serves the next request
        yield event;
        if (event.type === "finish") return;
      }
      throw new BrokenConnection("the answer ended before its finish");
    } catch (error) {
      if (call.stopped !== undefined) throw call.stopped;
      const context = { ...info, scrub, now: Date.now(), headers: response?.headers };
      throw providerError(error, verdictOn(error, response), context);
    } finally {
      call.close();
    }
  }

  return {
    id: `house/${model}`,
    info,
    stream,
    async generate(request, options) {
      for await (const event of stream(request, options)) if (event.type === "finish") return event.response;
      throw new Error("unreachable: a stream without a finish throws");
    },
  };
}

/** One JSON object on each line. This is what differs most from protocol to protocol; a real one has to be translated, too. */
async function* eventsOf(
  { body }: Response,
  wait: <T>(promise: Promise<T>) => Promise<T>,
): AsyncGenerator<ModelEvent> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await wait(reader.read());
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield parse(line);
  }
}

function parse(line: string): ModelEvent {
  try {
    return JSON.parse(line) as ModelEvent;
  } catch {
    throw new UnusableAnswer("a line of the answer is not JSON");
  }
}

/** Why a call failed, and so whether it may have been paid for and whether it makes sense to try again. */
function verdictOn(error: unknown, response: Response | undefined): FailureVerdict {
  const said = error instanceof Error ? error.message : String(error);
  if (response?.ok === false) {
    const { status } = response;
    return { ...classifyError({ status, message: said }), status, said };
  }
  if (error instanceof UnusableAnswer) return { kind: "SERVER_ERROR", said };
  return transportVerdict(error, "broken") ?? { kind: "UNKNOWN", said };
}

/** Leaves out what only the provider that made it can read. */
function withoutForeign(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message) => {
    if (message.role !== "assistant" || typeof message.content === "string") return message;
    const content = message.content.map((part) => {
      if (part.type !== "reasoning" || part.opaque?.provider === "house") return part;
      const { opaque: _, ...own } = part;
      return own;
    });
    return { ...message, content };
  });
  return { ...request, messages };
}
