import { expect, test } from "vitest";
import * as telemetry from "@ravi/telemetry-otel";

test("the package exports what it says, and no more", () => {
  expect(Object.keys(telemetry)).toEqual(["otelTelemetry"]);
});
