import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  BudgetExhaustedError,
  CancellationError,
  type JsonObject,
  MiddlewareTermination,
  PausedError,
  Priority,
  ProviderError,
  SuspendedError,
  ToolError,
} from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { otelTelemetry } from "@ravi/telemetry-otel";
import { only, recording } from "./support.ts";

const BASE = { runId: "r1", execId: "r1/hire:clerk#1", agentId: "clerk/1", sessionId: "s1" };

describe("the names of a span", () => {
  test("a run and a hired agent are invoke_agent, with the agent's name and id, and whom it works for", () => {
    const { tracer, ended } = recording();
    const telemetry = otelTelemetry({ tracer });
    const given = { ...BASE, tenantId: "acme", userId: "ada", priority: Priority.HIGH, agentVersion: "2" };
    telemetry.startSpan("ravi.hire", { ...given, parentId: "lead", replayed: true }).end();
    const span = only(ended());
    expect([span.name, span.kind]).toEqual(["invoke_agent clerk", SpanKind.INTERNAL]);
    expect(span.attributes).toEqual({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": "clerk/1",
      "gen_ai.agent.name": "clerk",
      "gen_ai.agent.version": "2",
      "gen_ai.conversation.id": "s1",
      "user.id": "ada",
      "ravi.run.id": "r1",
      "ravi.exec.id": "r1/hire:clerk#1",
      "ravi.parent.id": "lead",
      "ravi.tenant.id": "acme",
      "ravi.priority": "HIGH",
      "ravi.replayed": true,
    });
    telemetry.startSpan("ravi.run", BASE).end();
    expect(ended()[1]?.name).toBe("invoke_agent clerk");
  });

  test("a model call is chat, with what it used and cost", () => {
    const { tracer, ended } = recording();
    const asked = {
      key: "llm:x#1",
      provider: "openai",
      model: "gpt-5-mini",
      maxOutputTokens: 900,
      temperature: 0.2,
    };
    const span = otelTelemetry({ tracer }).startSpan("ravi.llm", { ...BASE, ...asked });
    const told: JsonObject = {
      inputTokens: 12,
      outputTokens: 3,
      cachedInputTokens: 8,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
      costUsd: 0.25,
      finishReason: "toolCalls",
      responseModel: "gpt-5-mini-2026",
      responseId: "resp_1",
      estimated: true,
    };
    for (const [key, value] of Object.entries(told))
      span.setAttribute(key, value as string | number | boolean);
    span.end();
    const { name, kind, attributes } = only(ended());
    expect([name, kind]).toEqual(["chat gpt-5-mini", SpanKind.CLIENT]);
    expect(attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.agent.id": "clerk/1",
      "gen_ai.agent.name": "clerk",
      "gen_ai.conversation.id": "s1",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5-mini",
      "gen_ai.request.max_tokens": 900,
      "gen_ai.request.temperature": 0.2,
      "gen_ai.response.model": "gpt-5-mini-2026",
      "gen_ai.response.id": "resp_1",
      "gen_ai.response.finish_reasons": ["tool_call"],
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
      "gen_ai.usage.cache_read.input_tokens": 8,
      "gen_ai.usage.cache_creation.input_tokens": 2,
      "gen_ai.usage.reasoning.output_tokens": 1,
      "ravi.run.id": "r1",
      "ravi.exec.id": "r1/hire:clerk#1",
      "ravi.call.key": "llm:x#1",
      "ravi.cost_usd": 0.25,
      "ravi.estimated": true,
    });
  });

  test("a tool call is execute_tool, with the tool and the id of the call", () => {
    const { tracer, ended } = recording();
    otelTelemetry({ tracer })
      .startSpan("ravi.tool", { ...BASE, key: "tool:1:0", tool: "pay", callId: "c1" })
      .end();
    const { name, kind, attributes } = only(ended());
    expect([name, kind]).toEqual(["execute_tool pay", SpanKind.INTERNAL]);
    expect(attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "pay",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "c1",
      "ravi.call.key": "tool:1:0",
    });
  });

  test("a span of somebody else keeps its name, and names of OpenTelemetry stay as they are", () => {
    const { tracer, ended } = recording();
    const telemetry = otelTelemetry({ tracer });
    telemetry
      .startSpan("chat m", { "gen_ai.operation.name": "chat", "gen_ai.request.max_tokens": undefined })
      .end();
    telemetry.startSpan("plan", { target: "x", list: [1], none: null }).end();
    const [chat, plan] = ended();
    expect([chat?.name, chat?.kind, chat?.attributes]).toEqual([
      "chat m",
      SpanKind.CLIENT,
      { "gen_ai.operation.name": "chat" },
    ]);
    expect([plan?.name, plan?.kind]).toEqual(["plan", SpanKind.INTERNAL]);
    expect(plan?.attributes).toEqual({ "ravi.target": "x", "ravi.list": "[1]" });
  });

  test.each([
    ["google", "gcp.gemini"],
    ["xai", "x_ai"],
    ["anthropic", "anthropic"],
    ["toString", "toString"],
  ])("the provider %s is called %s", (provider, expected) => {
    const { tracer, ended } = recording();
    const telemetry = otelTelemetry({ tracer });
    telemetry.startSpan("ravi.llm", { provider, model: "m" }).end();
    // As a layer names it.
    telemetry.startSpan("chat m", { "gen_ai.provider.name": provider }).end();
    expect(ended().map(({ attributes }) => attributes["gen_ai.provider.name"])).toEqual([expected, expected]);
  });
});

describe("how a span ends", () => {
  test.each<[string, unknown, string, string | undefined]>([
    [
      "a provider's failure",
      new ProviderError({ kind: "RATE_LIMIT", message: "slow down" }),
      "RATE_LIMIT",
      "slow down",
    ],
    ["a tool's failure", new ToolError({ toolName: "pay", message: "no" }), "TOOL_ERROR", undefined],
    ["an error of somebody else", new RangeError("too far"), "RangeError", "too far"],
    ["a thrown text", "oh no", "_OTHER", "oh no"],
    ["nothing", undefined, "_OTHER", undefined],
    [
      "an error whose name is a text",
      Object.assign(new Error(), { name: "no vendor 7" }),
      "_OTHER",
      undefined,
    ],
    ["an error with a long name", Object.assign(new Error(), { name: "x".repeat(101) }), "_OTHER", undefined],
    ["an object without a name", Object.create(null), "_OTHER", undefined],
  ])("%s is an error, with its type and message", (_, error, type, message) => {
    const { tracer, ended } = recording();
    const span = otelTelemetry({ tracer }).startSpan("ravi.llm", { model: "m" });
    span.recordError(error);
    span.end();
    const { status, attributes, events } = only(ended());
    expect(status.code).toBe(SpanStatusCode.ERROR);
    if (message !== undefined) expect(status.message).toBe(message);
    expect(attributes["error.type"]).toBe(type);
    expect(events.map(({ name }) => name)).toEqual(["exception"]);
    expect(attributes).not.toHaveProperty("ravi.status");
  });

  test.each<[unknown, string]>([
    [new CancellationError({ reason: "enough" }), "cancelled"],
    [new SuspendedError({ reason: "deploy" }), "suspended"],
    [new PausedError({ agentId: "clerk" }), "paused"],
    [new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "lead" }), "denied"],
    [new MiddlewareTermination({ layer: "guard", reason: "not that" }), "denied"],
  ])("%s is no error: the span says why it ended", (error, status) => {
    const { tracer, ended } = recording();
    const span = otelTelemetry({ tracer }).startSpan("ravi.llm", { model: "m" });
    span.recordError(error);
    span.end();
    const { status: shown, attributes, events } = only(ended());
    expect(shown.code).toBe(SpanStatusCode.UNSET);
    expect(attributes["ravi.status"]).toBe(status);
    expect(attributes["ravi.reason"]).toBe((error as Error).message);
    expect(attributes).not.toHaveProperty("error.type");
    expect(events).toEqual([]);
  });

  test.each<[string, unknown, boolean]>([
    ["failed", new MiddlewareTermination({ layer: "guard", reason: "not that" }), true],
    ["failed", new ToolError({ toolName: "lead", message: "crashed" }), true],
    ["cancelled", new CancellationError({ reason: "enough" }), false],
    ["suspended", new SuspendedError({ reason: "deploy" }), false],
    ["suspended", new ToolError({ toolName: "journal", message: "lost" }), true],
  ])("an agent that has %s by %s says what its run was told", (status, error, isError) => {
    const { tracer, ended } = recording();
    const span = otelTelemetry({ tracer }).startSpan("ravi.run", { agentId: "lead" });
    span.setAttribute("status", status);
    span.recordError(error);
    span.end();
    const { status: shown, attributes } = only(ended());
    expect(attributes["ravi.status"]).toBe(status);
    expect(shown.code).toBe(isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET);
  });

  test.each(["completed", "partial", "paused"])("an agent that is %s is no error", (status) => {
    const { tracer, ended } = recording();
    const span = otelTelemetry({ tracer }).startSpan("ravi.run", { agentId: "lead" });
    span.setAttribute("status", status);
    span.setAttribute("stopReason", "budget");
    span.end();
    const { status: shown, attributes } = only(ended());
    expect(shown).toEqual({ code: SpanStatusCode.UNSET });
    expect(attributes).toMatchObject({ "ravi.status": status, "ravi.stop_reason": "budget" });
  });

  test("T13: a message is cut and has no key in it", () => {
    const { tracer, ended } = recording();
    const span = otelTelemetry({ tracer }).startSpan("ravi.tool", { tool: "get" });
    const key = "sk-ant-CANARY00112233445566";
    const error = new Error(
      `GET https://me:hunter2@db/?token=abcdef failed with ${key} ${"x".repeat(9_000)}`,
    );
    span.recordError(Object.assign(error, { cause: new Error(key), config: { key } }));
    span.end();
    const { status, attributes, events, links } = only(ended());
    const all = JSON.stringify([status, attributes, events, links]);
    expect(all).toContain("GET https://[redacted]@db/?token=[redacted] failed with [redacted]");
    for (const secret of ["CANARY", "hunter2", "abcdef"]) expect(all).not.toContain(secret);
    expect(status.message?.length).toBeLessThanOrEqual(2_000);
  });
});
