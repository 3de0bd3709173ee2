import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  ErrorKind,
  type Layer,
  type LLMClient,
  type Pipeline,
  ProviderError,
} from "@ravi/kernel";
import { MiddlewarePipeline, retry, timeout } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";

// Two pipelines around one model, the runtime's outside and the agent's inside. The model does not listen to its signal: its first
// call fails long after the outer pipeline has given it up and begun another.

describe("T9: an attempt that the runtime's layers gave up is not repeated by the agent's own", () => {
  test.each<[string, (clock: ReturnType<typeof virtualClock>) => Layer<ChatContext>]>([
    ["a time limit that aborts the call", () => timeout({ timeoutMs: 1_000 })],
    [
      "a layer that stops waiting, and says nothing",
      (clock) => async (_context, next) => {
        const { promise, reject } = Promise.withResolvers<void>();
        clock.setTimer(() => reject(tired), 1_000);
        await Promise.race([next(), promise]);
      },
    ],
  ])("%s", async (_, limit) => {
    const clock = virtualClock();
    let calls = 0;
    const deaf: LLMClient = {
      id: "deaf",
      info: { provider: "test", model: "deaf", maxOutputTokens: 10 },
      generate() {
        const { promise, resolve, reject } =
          Promise.withResolvers<Awaited<ReturnType<LLMClient["generate"]>>>();
        const usage = { inputTokens: 1, outputTokens: 1 };
        if (++calls === 1) clock.setTimer(() => reject(tired), 1_500);
        else
          clock.setTimer(
            () => resolve({ message: { role: "assistant", content: "hi" }, finishReason: "stop", usage }),
            900,
          );
        return promise;
      },
    };
    const again = { baseMs: 0 };
    const agent = new ReActAgent({
      name: "greeter",
      model: deaf,
      middleware: { chat: new MiddlewarePipeline([retry(again)]) },
    });
    const runtime = new Runtime({
      clock,
      pipelines: { chat: new MiddlewarePipeline([retry(again), limit(clock)]) },
    });
    const { result } = runtime.run(agent, "Hello");
    await clock.advance(10_000);
    expect(await result).toMatchObject({ status: "completed", output: "hi" });
    expect(calls).toBe(2);
  });
});

test("T9: a pipeline of somebody's own may call its core with anything", async () => {
  let calls = 0;
  const model: LLMClient = {
    id: "shaky",
    info: { provider: "test", model: "shaky" },
    async generate() {
      if (++calls === 1) throw tired;
      return { message: { role: "assistant", content: "hi" }, finishReason: "stop" };
    },
  };
  const own = new MiddlewarePipeline<ChatContext>([(_, next) => next()]);
  const agent = new ReActAgent({ name: "greeter", model, middleware: { chat: own } });
  const twice: Pipeline<ChatContext> = { isNoop: false, admit() {}, run: (_, core) => core().catch(core) };
  const { result } = new Runtime({ pipelines: { chat: twice } }).run(agent, "Hello");
  expect(await result).toMatchObject({ status: "completed", output: "hi" });
});

const tired = new ProviderError({ kind: ErrorKind.OVERLOADED, message: "busy" });
