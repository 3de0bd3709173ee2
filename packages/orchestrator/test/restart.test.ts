import { describe, expect, test } from "vitest";
import {
  BudgetExhaustedError,
  HookEvent,
  JournalFailedError,
  MiddlewareTermination,
  ProviderError,
  type RestartPolicy,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, done, hands, lead, listening, toldIn } from "./support.ts";

/** A policy that says yes so many times for each execution, whatever the error is. */
function policy(times: number, delayMs = 0): RestartPolicy & { readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  return {
    counts,
    shouldRetry(id) {
      const n = (counts.get(id) ?? 0) + 1;
      counts.set(id, n);
      return n <= times;
    },
    delayMs: (attempt) => attempt * delayMs,
    reset: (id) => void counts.delete(id),
  };
}

function broken(): never {
  throw new Error("the policy is broken");
}

/** Crashes so many times, then answers. */
function flaky(crashes: number, error: () => Error = () => new TypeError("oops")) {
  const inputs: string[] = [];
  const made = agent("flaky", async (_, { input }) => {
    inputs.push(input);
    if (inputs.length <= crashes) throw error();
    return done(`worked at try ${inputs.length}`);
  });
  return { agent: made, inputs };
}

describe("R17: a helper that crashed is hired again", () => {
  test("until it works, with the same task; each restart is told", async () => {
    const { hooks, heard } = listening();
    const { agent: crashing, inputs } = flaky(2);
    const script = [hands(["flaky", "x"]), "ok"];
    const options = { retryPolicy: policy(3) };
    const { told, events } = await lead(script, [{ agent: crashing }], options, { hooks });
    expect(told).toEqual([{ text: "worked at try 3", isError: false }]);
    expect(inputs).toEqual(["x", "x", "x"]);
    expect(heard.filter(([event]) => event === HookEvent.RETRY)).toMatchObject([
      ["retry", { attempt: 1, error: { message: "flaky failed: oops" } }],
      ["retry", { attempt: 2 }],
    ]);
    const restarts = events.filter(({ event }) => event.type === "progress" && event.name === "restart");
    expect(restarts).toHaveLength(2);
    expect(heard.filter(([event]) => event === HookEvent.HANDOFF)).toHaveLength(1);
  });

  test.each<[string, Partial<Record<keyof RestartPolicy, () => unknown>>, number]>([
    ["says yes with a promise", { shouldRetry: async () => true }, 0],
    ["throws", { shouldRetry: broken }, 1],
    ["gives no delay", { shouldRetry: () => true, delayMs: () => undefined }, 1],
    ["cannot forget", { reset: broken }, 2],
  ])("T11: not by a policy that %s, and what was paid for is not lost", async (_, odd, failures) => {
    const { agent: crashing, inputs } = flaky(9);
    const retryPolicy = { ...policy(0), ...odd } as RestartPolicy;
    const { told, events } = await lead([hands(["flaky", "x"]), "ok"], [{ agent: crashing }], {
      retryPolicy,
    });
    expect(inputs).toHaveLength(1);
    expect(told).toMatchObject([{ isError: true, text: expect.stringContaining("flaky did not succeed: ") }]);
    const failed = events.filter(
      ({ event }) => event.type === "progress" && event.name === "restartPolicyFailed",
    );
    expect(failed).toHaveLength(failures);
  });

  test("until the policy gives up; then the model hears how often it was tried", async () => {
    const { agent: crashing, inputs } = flaky(9);
    const { told } = await lead([hands(["flaky", "x"]), "ok"], [{ agent: crashing }], {
      retryPolicy: policy(2),
    });
    expect(inputs).toHaveLength(3);
    expect(told).toEqual([
      {
        text: "error: flaky did not succeed, even after 2 restarts: flaky failed: oops",
        isError: true,
      },
    ]);
  });

  test("until there is no seat for it: the model hears of the crash, which has happened, and not of a hire that never was", async () => {
    const { agent: crashing, inputs } = flaky(9);
    const ctx = bareContext({ clock: virtualClock() });
    const { batch } = ctx;
    const error = new BudgetExhaustedError({ dimension: "totalAgents", used: 2, limit: 2, scope: "lead" });
    ctx.batch = async (leaves) =>
      (inputs.length === 0 ? await batch.call(ctx, leaves) : [{ status: "denied", error }]) as never;
    const model = scriptedModel([hands(["flaky", "x"]), "ok"]);
    const subAgents = [{ agent: crashing }];
    const orchestrator = new OrchestratorAgent({ name: "lead", model, subAgents, retryPolicy: policy(3) });
    await orchestrator.run(ctx, ctx.inbox("go"));
    expect(inputs).toHaveLength(1);
    expect(toldIn(ctx.window())).toEqual([
      { text: "error: flaky did not succeed: flaky failed: oops", isError: true },
    ]);
  });

  test("after its backoff", async () => {
    const clock = virtualClock({ now: 0 });
    const { agent: crashing, inputs } = flaky(1);
    const options = { retryPolicy: policy(1, 5_000) };
    const running = lead([hands(["flaky", "x"]), "ok"], [{ agent: crashing }], options, { clock });
    await clock.advance(4_999);
    expect(inputs).toHaveLength(1);
    await clock.advance(1);
    expect(inputs).toHaveLength(2);
    expect((await running).told[0]?.isError).toBe(false);
  });

  test("two that crashed in one turn are hired again together, after the longer of their backoffs", async () => {
    const clock = virtualClock({ now: 0 });
    const helpers = [flaky(1), flaky(1)];
    const delays = [5_000, 1_000];
    const retryPolicy = { ...policy(1), delayMs: () => delays.shift() ?? 0 };
    const subAgents = helpers.map((helper, at) => ({ agent: helper.agent, name: `h${at}` }));
    const running = lead([hands(["h0", "x"], ["h1", "x"]), "ok"], subAgents, { retryPolicy }, { clock });
    const tries = (): readonly number[] => helpers.map(({ inputs }) => inputs.length);
    await clock.advance(4_999);
    expect(tries()).toEqual([1, 1]);
    await clock.advance(1);
    expect(tries()).toEqual([2, 2]);
    await running;
  });

  test("each execution has a count of its own, and none is left behind", async () => {
    const retryPolicy = policy(1);
    const crashing = agent("flaky", async () => {
      throw new TypeError("oops");
    });
    const script = [hands(["flaky", "1"], ["flaky", "2"]), hands(["flaky", "3"]), "ok"];
    const { told } = await lead(script, [{ agent: crashing }], { retryPolicy });
    expect(told.map(({ text }) => /after 1 restart:/.test(text))).toEqual([true, true, true]);
    expect(retryPolicy.counts.size).toBe(0);
  });

  test("what a policy remembers of an earlier go changes nothing: a replay decides the same", async () => {
    const retryPolicy = policy(1);
    for (const go of [1, 2]) {
      const { agent: crashing, inputs } = flaky(1);
      await lead([hands(["flaky", "x"]), "ok"], [{ agent: crashing }], { retryPolicy });
      expect([go, inputs.length]).toEqual([go, 2]);
    }
  });

  test("never without a policy", async () => {
    const { agent: crashing, inputs } = flaky(1);
    await lead([hands(["flaky", "x"]), "ok"], [{ agent: crashing }]);
    expect(inputs).toHaveLength(1);
  });

  test.each([
    ["a provider's error", () => new ProviderError({ kind: "SERVER_ERROR", message: "down" })],
    ["a guardrail", () => new MiddlewareTermination({ layer: "guard", reason: "no" })],
    [
      "a provider's error in another's words",
      () => new Error("no answer", { cause: new ProviderError({ kind: "SERVER_ERROR", message: "down" }) }),
    ],
    [
      "a journal that takes nothing more",
      () => new JournalFailedError({ what: "append", final: true, cause: "full" }),
    ],
  ])("never after %s, however eager the policy is", async (_, error) => {
    const { agent: failing, inputs } = flaky(9, error);
    await lead([hands(["flaky", "x"]), "ok"], [{ agent: failing }], { retryPolicy: policy(9) });
    expect(inputs).toHaveLength(1);
  });

  test("after a journal that was only busy", async () => {
    const { agent: failing, inputs } = flaky(
      1,
      () => new JournalFailedError({ what: "append", final: false, cause: "busy" }),
    );
    await lead([hands(["flaky", "x"]), "ok"], [{ agent: failing }], { retryPolicy: policy(9) });
    expect(inputs).toHaveLength(2);
  });
});
