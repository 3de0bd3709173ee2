import assert from "node:assert/strict";
import { isRaviError, type ModelInfo, Priority } from "@ravi/kernel";
import { actualOf, ExecutionTracker, FairPool, ModelMeter, spendOf } from "@ravi/resources";

const info: ModelInfo = { provider: "acme", model: "large", maxOutputTokens: 1_000 };
const request = { messages: [{ role: "user", content: "Compare the three vendors" }] } as const;

/** Stands in for a provider: returns the tokens that the call has used. */
const provider = async () => ({ inputTokens: 20, outputTokens: 400 });

const meter = new ModelMeter({ prices: { "acme:large": { input: 3, output: 15 } } });
const pool = new FairPool({ concurrency: 10, requestsPerMinute: 500 });
const lead = new ExecutionTracker({ maxCostUsd: 0.1, maxTurns: 40 }, { scope: "lead" });
const researcher = lead.child({ maxTurns: 30 }, "lead/researcher");

async function call(): Promise<"answered" | "refused"> {
  const estimate = await meter.estimate(info, request);
  const permit = await pool.acquire({ priority: Priority.HIGH, tokens: estimate.inputTokens });
  try {
    // Reserves in this ledger and in all its parents, or in none of them, before anything is sent.
    const reservation = researcher.reserve(spendOf(estimate), { what: "acme:large" });
    const usage = await provider();
    reservation.settle(actualOf(usage, await meter.price(info, usage, estimate)));
    permit.release({ tokens: usage.inputTokens });
    return "answered";
  } catch (error) {
    if (isRaviError(error, "BUDGET_EXHAUSTED")) return "refused";
    throw error;
  } finally {
    permit.release(); // has no effect after the first time
  }
}

const outcomes = await Promise.all(Array.from({ length: 50 }, call));

const answered = outcomes.filter((outcome) => outcome === "answered").length;
assert.ok(
  answered >= 6 && answered < 50,
  "some fitted into ten cents, the others were refused before they were paid for",
);
assert.ok(Math.abs(lead.used.cost - answered * 0.00606) < 1e-9, "what was not used was given back");
assert.ok(lead.used.cost <= 0.1, "fifty calls at once cannot pass the limit");
assert.equal(lead.open, 0);
