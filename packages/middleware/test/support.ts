import {
  type AgentRunContext,
  type ChatContext,
  type ChatMessage,
  type Clock,
  type FunctionContext,
  type Gate,
  type HookEvent,
  type Hooks,
  type LLMClient,
  type ModelRequest,
  type ModelResponse,
  type StreamTransform,
  CancellationToken,
  ErrorKind,
  NO_HOOKS,
  ProviderError,
  RunMeta,
  SessionId,
  systemClock,
} from "@ravi/kernel";

export interface ContextOptions {
  readonly clock?: Clock | undefined;
  readonly hooks?: Hooks | undefined;
  readonly tenantId?: string | undefined;
  readonly deadline?: number | undefined;
  readonly token?: CancellationToken | undefined;
}

function base(options: ContextOptions) {
  const clock = options.clock ?? systemClock;
  const cancellation = options.token ?? new CancellationToken();
  // Of a run that its runtime watches: no timer of its own moves the time that a test looks at.
  const meta = RunMeta.of({
    runId: "run-1",
    clock,
    cancellation,
    tenantId: options.tenantId,
    deadline: options.deadline,
  });
  return {
    agentName: "tester",
    runId: meta.runId,
    meta,
    hooks: options.hooks ?? NO_HOOKS,
    clock,
    signal: cancellation.signal,
  };
}

export interface TestChatContext extends ChatContext {
  readonly transforms: StreamTransform[];
}

export function chatContext(
  options: ContextOptions & {
    readonly model?: LLMClient | undefined;
    readonly messages?: readonly ChatMessage[] | undefined;
    readonly request?: Partial<ModelRequest> | undefined;
  } = {},
): TestChatContext {
  const transforms: StreamTransform[] = [];
  return {
    ...base(options),
    systemInstructions: "",
    model: options.model ?? fakeModel("main"),
    request: { messages: options.messages ?? [user("hello")], ...options.request },
    result: undefined,
    call: (model, request) => model.generate(request),
    addTransform: (transform) => void transforms.push(transform),
    transforms,
  };
}

export function agentContext(
  options: ContextOptions & {
    readonly input?: string;
    readonly sessionId?: string;
    readonly isResumed?: boolean;
  } = {},
): AgentRunContext {
  return {
    ...base(options),
    sessionId: options.sessionId ?? "session-1",
    input: options.input ?? "do it",
    isResumed: options.isResumed,
    result: undefined,
  };
}

export function functionContext(
  options: ContextOptions & {
    readonly name?: string;
    readonly args?: unknown;
    readonly callId?: string;
    readonly meta?: RunMeta;
    readonly userId?: string | null;
  } = {},
): FunctionContext {
  const name = options.name ?? "search";
  const common = base(options);
  return {
    ...common,
    meta: options.meta ?? common.meta,
    scope: {
      userId: options.userId ?? null,
      tenantId: common.meta.tenantId,
      sessionId: SessionId("session-1"),
      runId: common.meta.runId,
      metadata: {},
    },
    functionName: name,
    callId: options.callId ?? "call_0",
    tool: { name, description: "", input: {}, execute: () => "" },
    arguments: options.args ?? {},
    result: undefined,
  };
}

export function user(content: string): ChatMessage {
  return { role: "user", content };
}

export function answer(text: string, more: Partial<ModelResponse> = {}): ModelResponse {
  return {
    message: { role: "assistant", content: text },
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 5 },
    ...more,
  };
}

export interface FakeModel extends LLMClient {
  readonly requests: ModelRequest[];
}

/** Answers with each given thing in turn, an error by throwing it; the last one again and again. */
export function fakeModel(id: string, ...script: (ModelResponse | Error | string)[]): FakeModel {
  const requests: ModelRequest[] = [];
  return {
    id,
    info: { provider: "fake", model: id },
    requests,
    async generate(request) {
      const step = script[Math.min(requests.length, script.length - 1)] ?? "ok";
      requests.push(request);
      if (step instanceof Error) throw step;
      return typeof step === "string" ? answer(step) : step;
    },
  };
}

/** What a runtime's core does: calls the context's model, and drops an answer whose call was given up. */
export function coreOf(context: ChatContext): () => Promise<void> {
  return async () => {
    const { signal } = context;
    const response = await context.model.generate(context.request, { signal });
    signal.throwIfAborted();
    context.result = response;
  };
}

export function overloaded(retryAfterMs?: number): ProviderError {
  return new ProviderError({ kind: ErrorKind.OVERLOADED, message: "overloaded", status: 529, retryAfterMs });
}

export interface RecordingHooks extends Hooks {
  readonly events: { readonly event: HookEvent; readonly payload: object }[];
}

export function recordingHooks(): RecordingHooks {
  const events: { readonly event: HookEvent; readonly payload: object }[] = [];
  return {
    events,
    has: () => true,
    dispatch: (event, payload) => void events.push({ event, payload }),
    drain: () => {},
  };
}

/** Fails the test when a layer asks for anything. */
export const closedGate: Gate = {
  require: (name) => Promise.reject(new Error(`nobody answers ${name}`)),
};

export const RUNS = (short: number, long: number): number => (process.env["RAVI_LONG"] ? long : short);

/** How long a test over random cases may take; only a guard against one that hangs. */
export const PATIENCE = { timeout: process.env["RAVI_LONG"] ? 600_000 : 30_000 };

/** What only looks like a promise: its `then` gives nothing back. */
export function thenable<T>(value: T): PromiseLike<T> {
  const then = (ok: (value: T) => void): void => {
    ok(value);
  };
  // oxlint-disable-next-line unicorn/no-thenable -- that is what it is
  return { then } as PromiseLike<T>;
}
