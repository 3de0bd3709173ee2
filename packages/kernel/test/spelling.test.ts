import { checkFields } from "@ravi/kernel";
import { expect, test } from "vitest";

const KNOWN = ["name", "model", "instructions", "baseURL", "maxTurns", "maxToolCalls", "retry"];

test.each([
  ["modle", "model"],
  ["modell", "model"],
  ["Model", "model"],
  ["baseUrl", "baseURL"],
  ["instruction", "instructions"],
  ["maxTurn", "maxTurns"],
  ["max_turns", "maxTurns"],
  ["maxToolCall", "maxToolCalls"],
])("an unknown option %s is refused with the known name that it may stand for", (typo, known) => {
  expect(() => checkFields("agent", { [typo]: 1 }, KNOWN)).toThrow(
    `agent.${typo} is 1; expected no field of that name; known fields: ${KNOWN.join(", ")}; did you mean ${known}?`,
  );
});

test("of two names that are near, the nearer one is meant, wherever it stands in the list", () => {
  expect(() => checkFields("agent", { maxInputs: 1 }, ["maxOutputs", "maxInput"])).toThrow(
    /did you mean maxInput\?$/,
  );
});

test.each(["todos", "x", "", "turns", "names of all kinds"])(
  "an unknown option %j, which is like none, is refused without a guess",
  (name) => {
    expect(() => checkFields("agent", { [name]: 1 }, KNOWN)).toThrow(/known fields: name, .*, retry$/);
  },
);

test.each([
  ["system", ["name", "instructions", "input"], "instructions"],
  ["instructions", ["name", "prompt"], "prompt"],
  ["inputSchema", ["name", "input", "execute"], "input"],
  ["handoffs", ["name", "members"], "members"],
  ["temperature", ["name", "settings"], "settings"],
  ["maxTurns", ["budget", "signal"], "budget"],
  ["maxTurns", ["budget", "maxSteps"], "maxSteps"],
  ["maxCost", ["budget", "signal"], "budget"],
  ["timeout", ["budget", "signal"], "budget"],
  ["timeout", ["budget", "askTimeoutS"], "askTimeoutS"],
  ["llm", ["name", "model"], "model"],
  ["outputSchema", ["name", "output"], "output"],
  ["schema", ["name", "input", "execute"], "input"],
  ["invoke", ["name", "execute"], "execute"],
  ["requireApproval", ["name", "needsApproval"], "needsApproval"],
  ["workers", ["name", "members"], "members"],
  ["maxRetries", ["budget", "retry"], "retry"],
  ["onStepFinish", ["onEvent", "signal"], "onEvent"],
  ["callbacks", ["name", "hooks"], "hooks"],
  ["thread_id", ["sessionId", "userId"], "sessionId"],
  ["resourceId", ["sessionId", "userId"], "userId"],
  ["context", ["metadata", "userId"], "metadata"],
])(
  "an option by the name %s, as other libraries call it, is refused with the name here",
  (other, known, here) => {
    expect(() => checkFields("agent", { [other]: 1 }, known)).toThrow(`did you mean ${here}?`);
  },
);

test("long names take no longer: few letters may differ, however long they are", () => {
  const known = "ab".repeat(500);
  const unlike = "ba".repeat(400);
  expect(() => checkFields("agent", { [unlike]: 1 }, [known])).toThrow(/no field of that name/);
  expect(() => checkFields("agent", { [`${known}c`]: 1 }, [known])).toThrow(/did you mean (?:ab){500}\?$/);
});
