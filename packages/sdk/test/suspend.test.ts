import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptedModel } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { agent, resume, start, tool } from "@ravi/sdk";

test("suspend with graceMs lets a payment under way end, and the resumed run does not pay again", async () => {
  const journal = await mkdtemp(join(tmpdir(), "ravi-suspend-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
  const [begun, paid] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  let payments = 0;
  const pay = tool({
    name: "pay",
    description: "Pays a bill.",
    input: z.object({}),
    execute: () => {
      payments++;
      begun.resolve();
      return paid.promise;
    },
  });
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? "It is paid." : { toolCalls: [{ name: "pay" }] },
  );
  const clerk = agent({ name: "clerk", model, tools: [pay] });
  const handle = start(clerk, "Pay the bill.", { journal });
  await begun.promise;
  await expect(handle.suspend({ grace: 1 } as never)).rejects.toThrow(/suspend options\.grace/);
  await expect(handle.suspend({ graceMs: "1s" as never })).rejects.toThrow(
    /^suspend options\.graceMs is "1s"/,
  );
  const suspending = handle.suspend({ graceMs: 60_000 });
  paid.resolve("paid");
  expect(await suspending).toMatchObject({ status: "suspended" });
  expect(model.calls).toHaveLength(1);
  const resumed = await resume(handle.runId, { agents: clerk, journal });
  expect(resumed).toMatchObject({ status: "completed", output: "It is paid.", inDoubt: [] });
  expect(payments).toBe(1);
});
