import { describe, expect, test } from "vitest";
import { type Agent, AgentId } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ActorCritic } from "@ravi/architectures";
import { asked, broke, run, says, told, usageOf, worker } from "../support.ts";

const score = (value: unknown): string => JSON.stringify({ score: value, feedback: "more detail" });

describe("J10: ActorCritic", () => {
  test("revises until the critic gives 0.9", async () => {
    const { result, model } = await run(new ActorCritic(), ["one", score(0.5), "two", score(0.95)]);
    expect(result).toEqual({ status: "completed", output: "two", stopReason: "done" });
    expect(asked(model.calls[2]?.request)).toContain("more detail");
  });

  test("0.9 is enough, and 0.899 is not", async () => {
    const { result } = await run(new ActorCritic(), ["one", score(0.899), "two", score(0.9)]);
    expect(result).toEqual({ status: "completed", output: "two", stopReason: "done" });
  });

  test("makes 3 × (1 + 1) calls at the most; the best answer stands, and is called partial", async () => {
    const { result, model, session } = await run(new ActorCritic(), [
      says("one"),
      says(score(0.6)),
      says("two"),
      says(score(0.8)),
      says("three"),
      says(score(0.7)),
    ]);
    expect(result).toEqual({ status: "partial", output: "two", stopReason: "steps" });
    expect(model.calls).toHaveLength(3 * (1 + 1));
    expect(session.metadata["actorCritic"]).toEqual({ rounds: 3, score: 0.8 });
    expect(session.cumulativeUsage).toEqual(usageOf(model));
  });

  test("J6: actor and critic may be agents, which are declared, and whose spend counts once", async () => {
    const actor = worker("actor", [says("one"), says("two")]);
    const critic = worker("critic", [says(score(0.1)), says("I give it nine out of ten.")]);
    const architecture = new ActorCritic({ actor, critic });
    const { result, session, model } = await run(architecture, []);
    expect(result).toMatchObject({ status: "completed", output: "two" });
    expect(session.cumulativeUsage).toEqual(usageOf(actor.model, critic.model));
    expect(model.calls).toEqual([]);
    expect(architecture.declaredWorkers()).toEqual({ actor, critic });
  });

  test("a critic who fails approves of nothing", async () => {
    const critic = worker("critic", () => new Error("on strike"));
    const { result, events } = await run(new ActorCritic({ critic, maxRounds: 2 }), ["one", "two"]);
    expect(result).toEqual({ status: "partial", output: "one", stopReason: "steps" });
    expect(told(events, "actorCritic.failed")).toHaveLength(2);
    expect(told(events, "actorCritic.score")).toEqual([
      { round: 1, score: null },
      { round: 2, score: null },
    ]);
  });

  test("an actor who fails at first is the run's failure; later, the best answer stands", async () => {
    await expect(
      run(new ActorCritic({ actor: worker("actor", () => new Error("gone")) }), []),
    ).rejects.toThrow("gone");
    const actor = worker("actor", ["one", new Error("gone")]);
    const { result } = await run(new ActorCritic({ actor }), [score(0.5)]);
    expect(result).toEqual({ status: "partial", output: "one", stopReason: "failed" });
  });

  test("a run that is cancelled while its actor works was cancelled: its best answer so far is not taken for its end", async () => {
    const ctx = bareContext();
    const answers = ["one"];
    const actor: Agent = {
      id: AgentId("actor"),
      async run() {
        const output = answers.shift();
        if (output !== undefined) return { status: "completed", output, stopReason: "done" };
        ctx.meta.cancellation.cancel("enough");
        throw new Error("socket hang up");
      },
    };
    await expect(run(new ActorCritic({ actor }), [score(0.5)], { ctx })).rejects.toMatchObject({
      code: "CANCELLED",
      reason: "enough",
    });
  });

  test.each([
    [1, "answer 0"],
    [2, "answer 0"],
    [3, "answer 0"],
    [4, "answer 2"],
  ])(
    "when the money ends after %i calls, the best answer so far is a partial result",
    async (after, output) => {
      const script = broke((request, call) => {
        const text = asked(request);
        return text.includes("Judge the answer")
          ? score(text.includes("answer 2") ? 0.7 : 0.2)
          : `answer ${call}`;
      }, after);
      const { result } = await run(new ActorCritic(), script);
      expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
    },
  );
});
