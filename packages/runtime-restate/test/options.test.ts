import { type Agent, AgentId, type CreateRunContext } from "@ravi/kernel";
import { expect, onTestFinished, test } from "vitest";
import { restateRuntime } from "@ravi/runtime-restate";

const agent: Agent = {
  id: AgentId("a"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};
const createContext: CreateRunContext = () => {
  throw new Error("nobody works here");
};
const whole = { createContext, ingress: "http://localhost:1", admin: "http://localhost:2" };

test.each<[string, object]>([
  ["runtime options.auditLog", { auditLog: {} }],
  ["runtime options.meter", { meter: { price: () => ({ usd: 0 }) } }],
  ["runtime options.permissions", { permissions: () => true }],
  ["runtime options.ledger", { ledger: {} }],
  ["runtime options.headcount", { headcount: null }],
  ["runtime options.limiter", { limiter: { acquire() {} } }],
  ["runtime options.history", { history: new Map() }],
  ["runtime options.hooks", { hooks: null }],
  ["runtime options.restart", { restart: 3 }],
  ["runtime options.blobs", { blobs: {} }],
  ["runtime options.clock", { clock: {} }],
  ["runtime options.pipelines.chat", { pipelines: { chat: [] } }],
  ["headers", { headers: new Headers({ authorization: "Bearer x" }) }],
  ["headers.authorization", { headers: { authorization: undefined } }],
  ["runtime options.agents", { agents: agent }],
  ["runtime options.agents[1]", { agents: [agent, { id: "b" }] }],
])("R24: a service that cannot serve is refused, as by the runtime in one process: %s", (field, change) => {
  const options = { ...whole, ...change };
  expect(() => restateRuntime(options)).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});

test("R24: a runtime registers agents and nothing else", () => {
  const runtime = restateRuntime(whole);
  expect(() => runtime.register({} as never)).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", field: "agent" }),
  );
});

test.each<[string, object]>([
  // It would listen on all interfaces.
  ["listen options.hostname", { hostname: "127.0.0.1" }],
  ["listen options.host", { host: 127 }],
  ["listen options.port", { port: "9080" }],
  ["listen options.port", { port: 70_000 }],
  ["listen options.reusePort", { reusePort: "yes" }],
])("T11: where a worker is served is checked before it listens anywhere: %s", async (field, options) => {
  const runtime = restateRuntime(whole);
  onTestFinished(() => runtime.close());
  await expect(runtime.listen(options)).rejects.toMatchObject({ code: "INVALID_VALUE", field });
});

test("T11: a runtime is not closed by options that it does not know", async () => {
  const runtime = restateRuntime(whole);
  for (const options of [{ drian: true }, { drain: "yes" }])
    await expect(runtime.close(options as never)).rejects.toMatchObject({ code: "INVALID_VALUE" });
  const { port, close } = await runtime.listen({ host: "127.0.0.1", port: 0 });
  expect(port).toBeGreaterThan(0);
  await close();
  await runtime.close();
});
