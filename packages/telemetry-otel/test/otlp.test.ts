import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { TracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace";
import { expect, onTestFinished, test } from "vitest";
import { otelTelemetry } from "@ravi/telemetry-otel";

interface Sent {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly status: object;
        readonly attributes: readonly { readonly key: string; readonly value: object }[];
      }[];
    }[];
  }[];
}

test("spans are sent to a collector over OTLP, as they are", async () => {
  const received: Sent[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      received.push(body as Sent);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });

  const telemetry = otelTelemetry({ tracer: provider.getTracer("ravi") });
  const run = telemetry.startSpan("ravi.run", { agentId: "lead", runId: "r1" });
  const call = telemetry.startSpan("ravi.llm", { agentId: "lead", provider: "openai", model: "small" }, run);
  call.setAttribute("inputTokens", 12);
  call.setAttribute("finishReason", "stop");
  call.recordError(new Error("the line is dead"));
  call.end();
  run.end();
  await provider.shutdown();

  const spans = received.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  );
  expect(spans.map(({ name }) => name)).toEqual(["chat small", "invoke_agent lead"]);
  const [chat, agent] = spans;
  expect(chat?.parentSpanId).toBe(agent?.spanId);
  expect(chat?.status).toEqual({ code: 2, message: "the line is dead" });
  expect(chat?.attributes).toEqual(
    expect.arrayContaining([
      { key: "gen_ai.usage.input_tokens", value: { intValue: 12 } },
      { key: "gen_ai.response.finish_reasons", value: { arrayValue: { values: [{ stringValue: "stop" }] } } },
    ]),
  );
});
