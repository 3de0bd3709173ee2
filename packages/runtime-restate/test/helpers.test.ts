import { type Agent, AgentId } from "@ravi/kernel";
import { expect, test } from "vitest";
import { hiring } from "../src/execution/hiring.ts";

const hired = async (name: string) => {
  const registered: Agent[] = [];
  const agent: Agent = {
    id: AgentId(name),
    run: async () => ({ status: "completed", output: "", stopReason: "done" }),
  };
  const attempt = {
    context: { run: (_: string, make: () => unknown) => make() },
    ports: { clock: { now: () => 1 } },
    flush: () => {},
    expect: () => {},
    register: (one: Agent) => registered.push(one),
    record: () => {},
    recordDenied: () => {},
  };
  const spec = {
    key: "hire",
    fingerprint: "f",
    agent,
    agentId: AgentId(name, "1"),
    execId: "run/hire",
    input: "",
    supervision: () => ({}),
    denial: () => undefined,
  };
  const steps = hiring(attempt as never, 1, [spec as never], "hire");
  const { value } = steps.next();
  const record = await (value as { readonly promise: Promise<{ denied: readonly unknown[] }> }).promise;
  return { steps, record, registered };
};

test("a helper that a model has defined is denied: on a worker it would replace every agent of its name", async () => {
  const { steps, record, registered } = await hired("helper:payer");
  expect(record.denied).toMatchObject([
    { code: "INVALID_VALUE", message: /on Restate, a model cannot define helpers/ },
  ]);
  const { done, value } = steps.next(record);
  expect(done).toBe(true);
  expect((value as ReadonlyMap<string, unknown>).get("hire")).toMatchObject({
    denied: { code: "INVALID_VALUE" },
  });
  expect(registered).toEqual([]);
});

test("any other agent is not", async () => {
  expect((await hired("payer")).record.denied).toEqual([null]);
});
