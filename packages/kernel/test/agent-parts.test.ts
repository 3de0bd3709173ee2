import { checkAgentParts } from "@ravi/kernel/loop";
import { expect, it } from "vitest";

it("each part of an agent that is of the wrong kind is an error that names it", () => {
  const wrong: readonly [object, string][] = [
    [{ hooks: {} }, "Writer.hooks"],
    [{ clock: Date }, "Writer.clock"],
    [{ clock: new Date(0) }, "Writer.clock"],
    [{ clock: () => 0 }, "Writer.clock"],
    [{ validator: {} }, "Writer.validator"],
    [{ version: 2 }, "Writer.version"],
    [{ description: ["x"] }, "Writer.description"],
    [{ executionBudget: { turns: 3 } }, "executionBudget.turns"],
    [{ loopDetection: true }, "Writer.loopDetection"],
    [{ loopDetection: null }, "Writer.loopDetection"],
    [{ loopDetection: new Map() }, "Writer.loopDetection"],
    [{ loopDetection: Promise.resolve({}) }, "Writer.loopDetection"],
    [{ loopDetection: { sameCall: { warn: 0 } } }, "loopDetection.sameCall.warn"],
    [{ middleware: { model: {} } }, "Writer.middleware.model"],
    [{ middleware: { chat: () => {} } }, "Writer.middleware.chat"],
    [{ settings: "hot" }, "Writer.settings"],
    [{ settings: { temprature: 1 } }, "Writer.settings.temprature"],
    [{ settings: { maxOutputTokens: 0 } }, "Writer.settings.maxOutputTokens"],
    [{ settings: { temperature: "hot" } }, "Writer.settings.temperature"],
    [{ settings: { topP: NaN } }, "Writer.settings.topP"],
    [{ settings: { seed: null } }, "Writer.settings.seed"],
    [{ settings: { stop: "END" } }, "Writer.settings.stop"],
    [{ settings: { stop: [1] } }, "Writer.settings.stop"],
    [{ settings: { reasoning: "high" } }, "Writer.settings.reasoning"],
    [{ settings: { providerOptions: null } }, "Writer.settings.providerOptions"],
  ];
  for (const [parts, field] of wrong)
    expect(() => checkAgentParts("Writer", parts)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE", field }),
    );
});

it("what is left out, and what fits, is taken", () => {
  const pipeline = { isNoop: false, admit: () => {}, run: async () => {} };
  const settings = { maxOutputTokens: 1, temperature: 0, topP: 0.5, stop: [], seed: -1, reasoning: {} };
  expect(() => {
    checkAgentParts("Writer", {});
    checkAgentParts("Writer", {
      settings,
      loopDetection: false,
      middleware: { chat: pipeline, agent: undefined },
    });
  }).not.toThrow();
});
