import type { AgentId, HookPayloads, Hooks, MaybePromise, Usage } from "@ravi/kernel";
import { expectTypeOf, test } from "vitest";
import { type AnyHookCallback, HookEvent, HookManager, type HookSource, RunLogger } from "../src/index.ts";

const hooks = new HookManager();

test("R20: a listener's payload is typed by its event", () => {
  hooks.on(HookEvent.LLM_END, (payload) => {
    expectTypeOf(payload).toEqualTypeOf<HookPayloads["llm_end"]>();
    expectTypeOf(payload.usage).toEqualTypeOf<Usage>();
    return payload.usage;
  });
  hooks.on("preempted", (payload) => expectTypeOf(payload.by).toEqualTypeOf<AgentId | undefined>());
  hooks.register(HookEvent.TOOL_END, async ({ toolName, status, durationMs }) => {
    expectTypeOf(toolName).toEqualTypeOf<string>();
    expectTypeOf(status).toEqualTypeOf<"ok" | "error">();
    expectTypeOf(durationMs).toEqualTypeOf<number>();
  });
  expectTypeOf(hooks.on).returns.toEqualTypeOf<() => void>();
});

test("R20: comparing the event of onAny or of a log entry narrows its payload", () => {
  hooks.onAny((event, payload) => {
    if (event === HookEvent.LLM_END) expectTypeOf(payload).toEqualTypeOf<HookPayloads["llm_end"]>();
    // @ts-expect-error not every payload has a usage
    void payload.usage;
  });
  expectTypeOf(hooks.onAny).parameter(0).toEqualTypeOf<AnyHookCallback | ((event: HookEvent) => unknown)>();
  for (const entry of new RunLogger().entries()) {
    if (entry.event === HookEvent.HANDOFF) expectTypeOf(entry.payload.to).toEqualTypeOf<string>();
  }
});

test("R20: onAny takes a function of the event alone", () => {
  hooks.onAny((event) => expectTypeOf(event).toEqualTypeOf<HookEvent>());
  hooks.onAny(async (event) => expectTypeOf(event).toEqualTypeOf<HookEvent>());
  hooks.onAny(() => {});
});

test("R20: an unknown event, a foreign payload and a write to a payload do not compile", () => {
  const never = (): void => {
    // @ts-expect-error no such event
    hooks.on("llm_finished", () => {});
    // @ts-expect-error no such event
    hooks.has("llm_finished");
    // @ts-expect-error no such event
    void hooks.dispatch("llm_finished", {});
    // @ts-expect-error a payload of LLM_END says more
    void hooks.dispatch(HookEvent.LLM_END, { step: 1 });
    // @ts-expect-error STEP_START has no usage
    hooks.on(HookEvent.STEP_START, (payload) => payload.usage);
    hooks.on(HookEvent.LLM_END, (payload) => {
      // @ts-expect-error payloads are read-only
      payload.usage.inputTokens = 0;
    });
  };
  expectTypeOf(never).returns.toEqualTypeOf<void>();
});

test("R20: a HookManager is the kernel's port, and what observers attach to", () => {
  expectTypeOf<HookManager>().toExtend<Hooks>();
  expectTypeOf<HookManager>().toExtend<HookSource>();
  expectTypeOf(hooks.dispatch).returns.toEqualTypeOf<MaybePromise<void>>();
});
