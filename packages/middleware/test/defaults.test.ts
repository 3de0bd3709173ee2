import { describe, expect, it } from "vitest";
import type { ChatContext, FunctionContext, Layer, ToolResult } from "@ravi/kernel";
import {
  approval,
  auditLogger,
  cache,
  contentFilter,
  contentTruncator,
  fallback,
  fileValidator,
  historyTruncator,
  llmJudge,
  maxTokens,
  MiddlewarePipeline,
  piiRedaction,
  promptInjection,
  rateLimiter,
  retry,
  schemaValidator,
  sessionValidation,
  timeout,
  toolAudit,
  toolCache,
  toolCallValidation,
  tracing,
} from "@ravi/middleware";
import { type VirtualClock, virtualClock } from "@ravi/testing";
import {
  agentContext,
  chatContext,
  coreOf,
  fakeModel,
  functionContext,
  overloaded,
  user,
} from "./support.ts";

// What each layer does if it is given nothing, to the last unit.

const runChat = (context: ChatContext, ...layers: Layer<ChatContext>[]): Promise<unknown> =>
  new MiddlewarePipeline<ChatContext>(layers).run(context, coreOf(context)).then(
    () => "passed",
    (error: unknown) => error,
  );

const runTool = async (
  args: unknown,
  content: string,
  ...layers: Layer<FunctionContext>[]
): Promise<ToolResult> => {
  const context = functionContext({ args });
  await new MiddlewarePipeline<FunctionContext>(layers).run(context, async () => {
    context.result = { content, isError: false };
  });
  return context.result ?? { content: "no result", isError: true };
};

/** What a cache says to the first question just before its time is up, then, after 999 others, and after one more; and to the second. */
async function saidOver(
  ms: number,
  clock: VirtualClock,
  isCached: (text: string) => Promise<boolean>,
): Promise<Readonly<Record<string, boolean>>> {
  await isCached("0");
  await clock.advance(ms - 1);
  const inTime = await isCached("0");
  await clock.advance(1);
  const late = await isCached("0");
  for (let n = 1; n < 1_000; n++) await isCached(`${n}`);
  const amongAThousand = await isCached("0");
  await isCached("one more");
  return { inTime, late, amongAThousand, oldest: await isCached("1"), latest: await isCached("0") };
}

const A_THOUSAND = { inTime: true, late: false, amongAThousand: true, oldest: false, latest: true };

describe("R27: the caches by default", () => {
  it("R27: a model's answer is kept for five minutes, and a thousand of them", async () => {
    const clock = virtualClock();
    const model = fakeModel("main");
    const pipeline = new MiddlewarePipeline<ChatContext>([cache()]);
    const isCached = async (text: string): Promise<boolean> => {
      const context = chatContext({ clock, model, messages: [user(text)] });
      await pipeline.run(context, coreOf(context));
      return context.result?.cached === true;
    };
    expect(await saidOver(300_000, clock, isCached)).toEqual(A_THOUSAND);
  });

  it("R27: a tool's result is kept for a minute, and a thousand of them", async () => {
    const clock = virtualClock();
    const pipeline = new MiddlewarePipeline<FunctionContext>([toolCache({ tools: ["search"] })]);
    let made = 0;
    const isCached = async (q: string): Promise<boolean> => {
      const context = functionContext({ clock, args: { q } });
      const before = made;
      await pipeline.run(context, async () => {
        context.result = { content: `result ${++made}`, isError: false };
      });
      return made === before;
    };
    expect(await saidOver(60_000, clock, isCached)).toEqual(A_THOUSAND);
  });

  it("R27: requests that are no plain JSON have no key in common", async () => {
    const model = fakeModel("main");
    const pipeline = new MiddlewarePipeline<ChatContext>([cache()]);
    for (const at of [new Date(0), new Date(1)]) {
      const providerOptions: Record<string, never> = { at: at as never };
      const context = chatContext({ model, request: { providerOptions } });
      await pipeline.run(context, coreOf(context));
    }
    expect(model.requests).toHaveLength(2);
  });
});

it("R27: a call may take a minute by default", async () => {
  const clock = virtualClock();
  const model = { ...fakeModel("main"), generate: () => new Promise<never>(() => {}) };
  let ended: unknown;
  const running = runChat(chatContext({ clock, model }), timeout()).then((end) => (ended = end));
  await clock.advance(59_999);
  expect(ended).toBeUndefined();
  await clock.advance(1);
  await running;
  expect(ended).toMatchObject({ code: "PROVIDER_ERROR", kind: "TIMEOUT" });
});

it("R27: a Retry-After of five minutes is waited for by default, and a longer one is not", async () => {
  for (const [ms, outcome, waited] of [
    [300_000, "passed", 300_000],
    [300_001, { kind: "OVERLOADED" }, 0],
  ] as const) {
    const clock = virtualClock();
    const running = runChat(chatContext({ clock, model: fakeModel("main", overloaded(ms), "ok") }), retry());
    await clock.runAll();
    const ended = await running;
    if (typeof outcome === "string") expect(ended).toBe(outcome);
    else expect(ended).toMatchObject(outcome);
    expect(clock.now()).toBe(waited);
  }
});

it("R27: an own score of 0.6 is an injection by default, and a lower one is not", async () => {
  const scored = (score: number): Promise<unknown> =>
    runChat(chatContext(), promptInjection({ score: () => score }));
  expect(await scored(0.599)).toBe("passed");
  expect(await scored(0.6)).toMatchObject({ code: "MIDDLEWARE_TERMINATION" });
});

it("R27: a judge has 300 tokens for its verdict by default, and judges the answer alone", async () => {
  const model = fakeModel("judge", '{"allow": true, "reason": ""}');
  expect(await runChat(chatContext(), llmJudge({ model, criteria: "Be kind." }))).toBe("passed");
  expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([300]);
});

describe("R27: the limits of tool calls by default", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

  it.each<[string, unknown, unknown, RegExp]>([
    ["100,000 characters", "x".repeat(99_998), "x".repeat(99_999), /longer than 100000 characters/],
    ["32 levels", nested(32), nested(33), /more than 32 levels/],
    ["10,000 values", Array(9_999).fill(1), Array(10_000).fill(1), /more than 10000 values/],
  ])("R27: arguments may have %s", async (_, most, more, reason) => {
    expect(await runTool(most, "fine", toolCallValidation())).toMatchObject({ content: "fine" });
    const refused = await runTool(more, "fine", toolCallValidation());
    expect(refused).toMatchObject({ isError: true, content: expect.stringMatching(reason) });
  });

  it("R27: a result may have 20,000 characters", async () => {
    const whole = "x".repeat(20_000);
    expect((await runTool({}, whole, contentTruncator())).content).toBe(whole);
    expect((await runTool({}, `${whole}x`, contentTruncator())).content).toContain("characters left out");
  });

  it("R27: a file may have 10,000,000 bytes", async () => {
    const sized = (bytes: number) =>
      runTool(
        { path: "/data/a" },
        "fine",
        fileValidator({ roots: ["/data"], disk: { realPath: (path) => path, sizeOf: () => bytes } }),
      );
    expect((await sized(10_000_000)).content).toBe("fine");
    expect((await sized(10_000_001)).content).toContain("at most 10000000");
  });

  it.each(
    "path paths file files filename filePath file_path directory dir folder source destination".split(" "),
  )("R27: an argument named %s is a path", async (name) => {
    const disk = { realPath: (path: string) => path, sizeOf: () => 1 };
    const refused = await runTool(
      { [name]: "/etc/passwd" },
      "fine",
      fileValidator({ roots: ["/data"], disk }),
    );
    expect(refused.isError).toBe(true);
  });
});

it("R27: an input may have 1,000,000 characters by default", async () => {
  const validated = (length: number): Promise<unknown> => {
    const context = agentContext({ input: "x".repeat(length) });
    return new MiddlewarePipeline([sessionValidation()]).run(context, async () => {});
  };
  await validated(1_000_000);
  await expect(validated(1_000_001)).rejects.toThrow("at most 1000000 are allowed");
});

const log = { append: () => {} };
const telemetry = { startSpan: () => ({ setAttribute() {}, recordError() {}, end() {} }), metric() {} };
const model = fakeModel("main");

it.each<[string, (odd: object) => unknown]>([
  ["approval", (odd) => approval(odd)],
  ["auditLogger", (odd) => auditLogger({ log, ...odd })],
  ["cache", (odd) => cache(odd)],
  ["contentFilter", (odd) => contentFilter({ blocked: ["x"], ...odd })],
  ["contentTruncator", (odd) => contentTruncator(odd)],
  ["fallback", (odd) => fallback({ models: [model], ...odd })],
  ["fileValidator", (odd) => fileValidator({ roots: ["/data"], ...odd })],
  ["historyTruncator", (odd) => historyTruncator(odd)],
  ["llmJudge", (odd) => llmJudge({ model, criteria: "Be kind.", ...odd })],
  ["maxTokens", (odd) => maxTokens({ maxInputTokens: 1, ...odd })],
  ["piiRedaction", (odd) => piiRedaction(odd)],
  ["promptInjection", (odd) => promptInjection(odd)],
  ["rateLimiter", (odd) => rateLimiter(odd)],
  ["retry", (odd) => retry(odd)],
  ["schemaValidator", (odd) => schemaValidator({ schemas: {}, ...odd })],
  ["sessionValidation", (odd) => sessionValidation(odd)],
  ["timeout", (odd) => timeout(odd)],
  ["toolAudit", (odd) => toolAudit({ log, ...odd })],
  ["toolCache", (odd) => toolCache({ tools: [], ...odd })],
  ["toolCallValidation", (odd) => toolCallValidation(odd)],
  ["tracing", (odd) => tracing({ telemetry, ...odd })],
])("R27: %s refuses a field that it does not know, so that no default holds by mistake", (name, build) => {
  expect(() => build({})).not.toThrow();
  expect(() => build({ most: 1 })).toThrow(`${name}.most is 1; expected no field of that name`);
});
