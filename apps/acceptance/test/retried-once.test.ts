import { expect, test } from "vitest";
import { type Agent, type ChatContext, HookEvent, type LLMClient, ProviderError } from "@ravi/kernel";
import { HookManager } from "@ravi/hooks";
import { fallback, MiddlewarePipeline, retry } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { SessionAgent } from "@ravi/session";
import { virtualClock } from "@ravi/testing";

type Clock = ReturnType<typeof virtualClock>;

const retries = (maxRetries: number) => new MiddlewarePipeline<ChatContext>([retry({ maxRetries })]);

test.each<[string, number, (model: LLMClient, clock: Clock) => Agent, MiddlewarePipeline<ChatContext>?]>([
  [
    "the runtime, and not the agent's own layer",
    3,
    (model) => new ReActAgent({ name: "a", model, middleware: { chat: retries(5) } }),
    retries(2),
  ],
  ["the session, and not the runtime", 3, (model, clock) => aSession(model, clock, 2), retries(5)],
  ["the runtime, where the session does not", 6, (model, clock) => aSession(model, clock, 0), retries(5)],
  [
    "the outer one of two, with the spare model in each attempt",
    6,
    (model) => {
      const chat = new MiddlewarePipeline([retry({ maxRetries: 2 }), fallback({ models: [model] }), retry()]);
      return new ReActAgent({ name: "a", model, middleware: { chat } });
    },
  ],
])("O5, R27: a model call is retried by one layer only: %s", async (_, expected, make, chat) => {
  const clock = virtualClock();
  let calls = 0;
  const model: LLMClient = {
    id: "busy",
    info: { provider: "test", model: "busy" },
    generate() {
      calls++;
      throw new ProviderError({ kind: "OVERLOADED", status: 503 });
    },
  };
  const hooks = new HookManager();
  let told = 0;
  hooks.on(HookEvent.RETRY, () => void told++);
  const runtime = new Runtime({ clock, hooks, ...(chat !== undefined && { pipelines: { chat } }) });
  const run = runtime.run(make(model, clock), "Hello");
  for (let turn = 0; turn < 100; turn++) {
    await clock.runAll();
    await new Promise(setImmediate);
  }
  expect(await run.result).toMatchObject({ status: "failed", error: { kind: "OVERLOADED" } });
  expect(calls).toBe(expected);
  expect(told, "each retry is told once").toBeGreaterThan(0);
});

function aSession(model: LLMClient, clock: Clock, maxRetries: number): SessionAgent {
  return new SessionAgent({ model, clock, retry: { maxRetries } });
}
