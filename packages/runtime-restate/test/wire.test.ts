import { type JsonObject, RaviError } from "@ravi/kernel";
import { expect, test } from "vitest";
import { checkSize, MOST } from "../src/sizes.ts";
import { outcomeFromJSON, outcomeToJSON } from "../src/outcome.ts";

test("R24: every fate of a child comes back from the wire as it went", () => {
  const result = { status: "partial", output: "half", stopReason: "steps" } as const;
  const stoppedBy = { dimension: "turns", used: 3, limit: 3, scope: "lead" } as const;
  const cut = { status: "partial", result, stoppedBy } as const;
  expect(outcomeFromJSON(outcomeToJSON(cut))).toEqual(cut);
  const error = new RaviError({ code: "CANCELLED", message: "enough" });
  const wire = JSON.stringify(outcomeToJSON({ status: "cancelled", error }));
  const back = outcomeFromJSON(JSON.parse(wire) as JsonObject);
  expect(back).toMatchObject({ status: "cancelled", error: { code: "CANCELLED", message: "enough" } });
});

test("R24: what the server would refuse for ever is refused by its size on the wire", () => {
  expect(() => checkSize("f", "x".repeat(MOST - 2))).not.toThrow();
  expect(() => checkSize("f", "x".repeat(MOST))).toThrow(/f is .*25165826 bytes/);
  expect(() => checkSize("f", "ü".repeat(MOST / 2))).toThrow(/bytes/);
  expect(() => checkSize("f", "\n".repeat(MOST / 2))).toThrow(/bytes/);
});
