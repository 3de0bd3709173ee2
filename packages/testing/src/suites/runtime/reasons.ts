import { expect } from "vitest";
import type { RunSummary } from "@ravi/kernel";
import {
  agent,
  call,
  done,
  hangingOnce,
  type RuntimeCase,
  type RuntimeUnderTest,
  untilWaiting,
  until,
  word,
} from "./stage.ts";

type Reasons = Pick<RunSummary, "status" | "error" | "cancelReason">;

async function reasons(runtime: RuntimeUnderTest, run: string): Promise<Partial<Reasons>> {
  const { status, error, cancelReason } = (await runtime.list()).find(({ runId }) => runId === run) ?? {};
  return {
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    ...(cancelReason !== undefined && { cancelReason }),
  };
}

/** Why runs stand as they do, as the list of runs has it. */
export const reasonCases: readonly RuntimeCase[] = [
  {
    rule: "R24",
    needs: "reasons",
    says: "the list says which error a run has failed with, and cuts a long message",
    async run({ create }) {
      const broken = agent("broken", async (_ctx, inbox) => {
        throw new TypeError(inbox.input);
      });
      const fine = agent("fine", async () => done("well"));
      const runtime = await create({ agents: [broken, fine] });
      for (const [runId, input] of [
        ["reason-1", "x is not a function"],
        ["reason-2", `x is ${"very ".repeat(1_000)}long`],
      ] as const) {
        const { status, error } = await runtime.run(broken, input, { runId }).result;
        const { code = "", message = "" } = error ?? {};
        const cut = message.length <= 1_000 ? message : `${message.slice(0, 1_000)}…`;
        expect([status, message]).toEqual(["failed", expect.stringContaining(input)]);
        expect(await reasons(runtime, runId)).toEqual({ status, error: { code, message: cut } });
      }
      await runtime.run(fine, "", { runId: "reason-3" }).result;
      expect(await reasons(runtime, "reason-3")).toEqual({ status: "completed" });
    },
  },
  {
    rule: "R24",
    needs: "reasons",
    says: "the list says why a run is suspended, until it goes on",
    async run({ create, crash }) {
      const { tool: pay, calls } = hangingOnce("pay", false);
      const payer = agent("payer", async (ctx) => {
        await ctx.tool(call("pay"), pay);
        return done(word(await ctx.waitFor("word")));
      });
      const first = await create({ agents: [payer] });
      first.run(payer, "", { runId: "reason-4" });
      await until(() => calls() === 1);
      expect((await reasons(first, "reason-4")).error).toBeUndefined();
      await crash(first);
      const second = await create({ agents: [payer] });
      const { status, error } = await second.resume("reason-4").result;
      const { code = "", message = "" } = error ?? {};
      expect([status, code]).toEqual(["suspended", "NEEDS_DECISION"]);
      expect(await reasons(second, "reason-4")).toEqual({ status, error: { code, message } });
      const decided = second.resume("reason-4", { decisions: { "reason-4:tool:pay#1": "skip" } });
      await untilWaiting(decided);
      expect((await reasons(second, "reason-4")).error).toBeUndefined();
      await second.deliver("reason-4", "word", "on");
      expect((await decided.result).output).toBe("on");
      expect(await reasons(second, "reason-4")).toEqual({ status: "completed" });
    },
  },
  {
    rule: "R9",
    needs: "reasons",
    says: "the list says that a run was cancelled and why before it has ended, and then with which error it ended",
    async run({ create, crash }) {
      const patient = agent("patient", async (ctx) => done(word(await ctx.waitFor("word"))));
      const first = await create({ agents: [patient] });
      const handle = first.run(patient, "", { runId: "reason-5" });
      await untilWaiting(handle);
      expect((await reasons(first, "reason-5")).cancelReason).toBeUndefined();
      await crash(first);
      void handle.result.catch(() => {});
      // One that cannot run the agent, and so does not end the run itself.
      const other = await create({ agents: [] });
      await other.cancel("reason-5", "too dear: ü");
      await other.cancel("reason-5", "too late");
      const { status: before, ...stopped } = await reasons(other, "reason-5");
      expect(["running", "suspended"]).toContain(before);
      expect(stopped).toEqual({ cancelReason: "too dear: ü" });
      const second = await create({ agents: [patient] });
      const { status, error } = await second.resume("reason-5").result;
      const { code = "", message = "" } = error ?? {};
      expect([status, message]).toEqual(["cancelled", expect.stringContaining("too dear: ü")]);
      expect(await reasons(second, "reason-5")).toEqual({ status, error: { code, message } });
    },
  },
];
