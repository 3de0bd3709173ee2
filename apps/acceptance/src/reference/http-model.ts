import { type LLMClient, type ModelRequest, type ModelResponse, ProviderError } from "@ravi/kernel";

/** The edge of the reference run: just enough of Chat Completions over HTTP to be billed by a server of its own. */
export function httpModel(url: string): LLMClient {
  return {
    id: "loopback",
    info: { provider: "loopback", model: "small", maxOutputTokens: 200 },
    async generate(request, options) {
      const response = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": options?.idempotencyKey ?? "" },
        body: JSON.stringify(toWire(request)),
        signal: options?.signal ?? null,
      });
      if (!response.ok) {
        throw new ProviderError({
          kind: "SERVER_ERROR",
          status: response.status,
          message: await response.text(),
        });
      }
      return fromWire((await response.json()) as WireResponse);
    },
  };
}

interface WireResponse {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
    };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

function toWire({ messages, tools, maxOutputTokens }: ModelRequest): object {
  return {
    model: "small",
    max_tokens: maxOutputTokens,
    tools: tools?.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
    messages: messages.map((message) => {
      if (message.role === "tool")
        return { role: "tool", tool_call_id: message.toolCallId, content: message.content };
      if (message.role !== "assistant" || message.toolCalls === undefined) return message;
      const calls = message.toolCalls.map(({ id, name, arguments: args }) => ({
        id,
        type: "function",
        function: { name, arguments: args },
      }));
      return { role: "assistant", content: null, tool_calls: calls };
    }),
  };
}

function fromWire({ choices, usage }: WireResponse): ModelResponse {
  const message = choices[0]?.message;
  const toolCalls = message?.tool_calls?.map(({ id, function: call }) => ({
    id,
    name: call.name,
    arguments: call.arguments,
  }));
  return {
    message: {
      role: "assistant",
      content: message?.content ?? "",
      ...(toolCalls !== undefined && { toolCalls }),
    },
    finishReason: toolCalls === undefined ? "stop" : "toolCalls",
    usage: { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens },
  };
}
