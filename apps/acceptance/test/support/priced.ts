import { type Agent, AgentId, type AgentResult, type LLMClient, type Meter } from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import type { RuntimeOptions } from "@ravi/runtime";
import { expect } from "vitest";

// What tests about money need: agents, models that count what they are sent, and a price.

export const done = (output = ""): AgentResult => ({ status: "completed", output, stopReason: "done" });

export const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });

export const ask = (text: string) => ({ messages: [{ role: "user", content: text }] }) as const;

export const call = (name: string) => ({ id: "c", name, arguments: "{}" });

export const codeOf = (error: unknown): string => String(Reflect.get(Object(error), "code"));

/** Ten cents a call. */
export const meter: Meter = {
  estimate: () => ({ inputTokens: 50, maxOutputTokens: 50, price: { usd: 0.1 } }),
  price: () => ({ usd: 0.1 }),
};

export function model(id: string, answer: () => unknown = () => undefined): LLMClient & { sent: number } {
  return {
    id,
    sent: 0,
    info: { provider: "x", model: id },
    async generate() {
      this.sent++;
      await answer();
      const message = { role: "assistant", content: "ok" } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 5, outputTokens: 5 } };
    },
  };
}

export function tracked(): {
  ledger: NonNullable<RuntimeOptions["ledger"]>;
  tracker: () => ExecutionTracker;
} {
  let made: ExecutionTracker | undefined;
  return {
    ledger: ({ executionBudget }) => (made = new ExecutionTracker(executionBudget)),
    tracker: () => made ?? expect.fail("no ledger was made"),
  };
}
