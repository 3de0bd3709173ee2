import { classifyError, ErrorKind, isRetryableKind, ProviderError, SuspendedError } from "@ravi/kernel";
import { MemorySessionStore } from "@ravi/session";
import { scriptedModel, virtualClock } from "@ravi/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decideRetry, retryPlan } from "../src/retry/policy.ts";
import { recorder, session, tool } from "./support.ts";

const failure = (kind: ErrorKind, retryAfterMs?: number): ProviderError =>
  new ProviderError({ kind, message: kind, retryAfterMs });

it("O5: by default there are 3 retries, with base · 2^n as the longest wait and full jitter under it", () => {
  const plan = retryPlan();
  const wait = (failures: number, random: number): unknown =>
    decideRetry(plan, { error: classifyError(failure("OVERLOADED")), failures, isCompacted: false, random });
  expect(wait(1, 0.999999)).toEqual({ action: "retry", delayMs: 999 });
  expect(wait(2, 0.999999)).toEqual({ action: "retry", delayMs: 1_999 });
  expect(wait(3, 0.5)).toEqual({ action: "retry", delayMs: 2_000 });
  expect(wait(1, 0)).toEqual({ action: "retry", delayMs: 0 });
  expect(wait(4, 0.5)).toEqual({ action: "fail" });
});

it("O5: by default no wait is longer than a minute, and no longer Retry-After than ten minutes is waited for", () => {
  const wait = (failures: number, retryAfterMs?: number): unknown => {
    const error = classifyError(failure("RATE_LIMIT", retryAfterMs));
    return decideRetry(retryPlan({ maxRetries: 9 }), {
      error,
      failures,
      isCompacted: false,
      random: 0.999_999,
    });
  };
  expect(wait(6)).toEqual({ action: "retry", delayMs: 31_999 });
  expect(wait(7)).toEqual({ action: "retry", delayMs: 59_999 });
  expect(wait(9)).toEqual({ action: "retry", delayMs: 59_999 });
  expect(wait(1, 600_000)).toEqual({ action: "retry", delayMs: 600_000 });
  expect(wait(1, 600_001)).toEqual({ action: "fail" });
});

it("O5: a base of 0 is no wait, however many failures there were", () => {
  const plan = retryPlan({ maxRetries: 2_000, baseDelayMs: 0 });
  const error = classifyError(failure("OVERLOADED"));
  const decision = decideRetry(plan, { error, failures: 1_500, isCompacted: false, random: 0.5 });
  expect(decision).toEqual({ action: "retry", delayMs: 0 });
});

it("O5: the longest Retry-After that is waited for is the limit itself", () => {
  const plan = retryPlan({ maxRetryAfterMs: 5_000 });
  const decide = (retryAfterMs: number): unknown => {
    const error = classifyError(failure("RATE_LIMIT", retryAfterMs));
    return decideRetry(plan, { error, failures: 1, isCompacted: false, random: 0 });
  };
  expect(decide(5_000)).toEqual({ action: "retry", delayMs: 5_000 });
  expect(decide(5_001)).toEqual({ action: "fail" });
});

it("O5, O6: for every kind, any wait lies between Retry-After and its bound, and a fatal kind is never tried again", () => {
  const kinds = Object.values(ErrorKind);
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      fc.integer({ min: 1, max: 6 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: undefined }),
      fc.boolean(),
      (kind, failures, random, retryAfterMs, isCompacted) => {
        const plan = retryPlan();
        const error = classifyError(failure(kind, retryAfterMs));
        const decision = decideRetry(plan, { error, failures, isCompacted, random });
        const isOver = !isRetryableKind(kind) || failures > plan.maxRetries;
        const isFull = kind === "CONTEXT_OVERFLOW";
        if (isOver || (isFull ? isCompacted : (retryAfterMs ?? 0) > plan.maxRetryAfterMs)) {
          expect(decision).toEqual({ action: "fail" });
          return;
        }
        expect(decision.action).toBe(isFull ? "compact" : "retry");
        if (decision.action !== "retry") return;
        expect(decision.delayMs).toBeGreaterThanOrEqual(retryAfterMs ?? 0);
        const bound = Math.min(1_000 * 2 ** (failures - 1), plan.maxDelayMs);
        expect(decision.delayMs).toBeLessThanOrEqual(Math.max(bound, retryAfterMs ?? 0));
      },
    ),
  );
});

it("O5: Retry-After is waited for, and there is no wait after the last attempt", async () => {
  const clock = virtualClock();
  const model = scriptedModel(() => failure("RATE_LIMIT", 5_000));
  const agent = session({ model, clock, retry: { maxRetries: 2 } });
  const turn = agent.invoke("Hello").catch((error: unknown) => error);
  const calls: number[] = [];
  for (let step = 0; step < 3; step++) {
    await clock.advance(0);
    calls.push(model.calls.length);
    await clock.advance(4_999);
    calls.push(model.calls.length);
    await clock.advance(1);
  }
  expect(calls.slice(0, 4)).toEqual([1, 1, 2, 2]);
  expect(await turn).toMatchObject({ kind: "RATE_LIMIT" });
  expect(model.calls).toHaveLength(3);
  expect(clock.pending).toBe(0);
});

it("O5: an abort ends the wait for a retry", async () => {
  const clock = virtualClock();
  const agent = session({ model: scriptedModel(() => failure("RATE_LIMIT", 60_000)), clock, retry: {} });
  const turn = agent.invoke("Hello").catch((error: unknown) => error);
  await clock.advance(10);
  agent.abort();
  expect(await turn).toMatchObject({ code: "CANCELLED" });
  expect(clock.pending).toBe(0);
});

it("O6: a fatal failure, a mistake in a program, a suspension and a disabled retry are each one attempt", async () => {
  for (const [error, retry] of [
    [failure("AUTH"), {}],
    [failure("BILLING"), {}],
    [new TypeError("x is not a function"), {}],
    [new SuspendedError({ reason: "the runtime was closed" }), {}],
    [failure("OVERLOADED"), { enabled: false }],
    [failure("OVERLOADED"), { maxRetries: 0 }],
    [failure("OVERLOADED"), false],
  ] as const) {
    const model = scriptedModel(() => error);
    await expect(session({ model, retry }).invoke("Hello")).rejects.toBe(error);
    expect(model.calls).toHaveLength(1);
  }
});

it("O4: when all attempts have failed the user's message goes, and the next turn does not see it", async () => {
  const model = scriptedModel([failure("AUTH"), "Hello again."]);
  const agent = session({ model });
  await expect(agent.invoke("lost")).rejects.toMatchObject({ kind: "AUTH" });
  expect(await agent.sessionManager.messages()).toEqual([]);
  await agent.invoke("found");
  expect(model.calls[1]?.request.messages.slice(1)).toEqual([{ role: "user", content: "found" }]);
});

it("O4: the user's message is written once, however many attempts there are", async () => {
  const agent = session({ model: scriptedModel([failure("TIMEOUT"), failure("TIMEOUT"), "Hi."]) });
  await agent.invoke("Hello");
  const kinds = agent.sessionManager.entries().map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "message")).toHaveLength(2);
});

it("O4: completed tool work of a failed attempt is kept and not repeated", async () => {
  let sent = 0;
  const model = scriptedModel([
    { toolCalls: [{ name: "send", arguments: {} }] },
    failure("SERVER_ERROR"),
    "It was sent once.",
  ]);
  const agent = session({ model, tools: [tool("send", () => `sent ${++sent}`)] });
  expect((await agent.invoke("Send it.")).output).toBe("It was sent once.");
  expect(sent).toBe(1);
  expect(model.calls[2]?.request.messages.slice(1).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
  ]);
});

it("O4: completed tool work is kept also when all attempts have failed", async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: "send", arguments: {} }] },
    failure("AUTH"),
    "Yes, it was.",
  ]);
  const agent = session({ model, tools: [tool("send", () => "sent")] });
  await expect(agent.invoke("Send it.")).rejects.toMatchObject({ kind: "AUTH" });
  await agent.invoke("Was it sent?");
  expect(model.calls[2]?.request.messages.slice(1).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "user",
  ]);
});

it("O5: failures are counted from the last answer: a long turn survives more of them than a short one", async () => {
  const call = { toolCalls: [{ name: "work", arguments: {} }] };
  let n = 0;
  const model = scriptedModel(() => (++n % 2 === 1 ? failure("OVERLOADED") : n < 12 ? call : "Done."));
  const tools = [tool("work", () => `step ${n}`)];
  expect(
    (await session({ model, tools, retry: { maxRetries: 1, baseDelayMs: 0 } }).invoke("Go")).output,
  ).toBe("Done.");
  expect(n).toBe(12);
});

it("O12: an overflow is compacted once; a second one is the end", async () => {
  const log: string[] = [];
  const model = scriptedModel(["one", failure("CONTEXT_OVERFLOW"), failure("CONTEXT_OVERFLOW")]);
  const agent = session({
    model,
    extensions: [recorder(log)],
    compaction: { compact: (messages) => messages.slice(-1) },
  });
  await agent.invoke("a");
  await expect(agent.invoke("b")).rejects.toMatchObject({ kind: "CONTEXT_OVERFLOW" });
  expect(log.filter((event) => event === "session_compact")).toHaveLength(1);
});

it("O12: a compaction that does not shrink is not written, and the overflow is the error", async () => {
  const model = scriptedModel(["one", failure("CONTEXT_OVERFLOW"), "never"]);
  const agent = session({ model, compaction: { compact: (messages) => [...messages, ...messages] } });
  await agent.invoke("a");
  await expect(agent.invoke("b")).rejects.toMatchObject({ kind: "CONTEXT_OVERFLOW" });
  expect(model.calls).toHaveLength(2);
  expect(agent.sessionManager.entries().some(({ kind }) => kind === "compaction")).toBe(false);
});

it("O7: messages are written as they end, and usage updates the context's token count", async () => {
  const store = new MemorySessionStore();
  const usage = { inputTokens: 700, outputTokens: 30 };
  const written: number[] = [];
  const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, { text: "Done.", usage }]);
  const agent = session({
    model,
    store,
    tools: [tool("look", () => written.push(agent.sessionManager.entries().length))],
  });
  await agent.invoke("Hello");
  // The prompt, the user's message and the assistant's call were there while the tool ran.
  expect(written).toEqual([3]);
  expect(agent.contextUsage()).toEqual({ tokens: 730, window: null });
  const last = await agent.sessionManager.read(agent.sessionManager.leaf ?? "");
  expect(last).toMatchObject({ kind: "message", usage, model: "scripted" });
});
