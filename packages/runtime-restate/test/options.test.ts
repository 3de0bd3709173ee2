import { type Agent, AgentId, type CreateRunContext } from "@ravi/kernel";
import { expect, test } from "vitest";
import { restateRuntime } from "@ravi/runtime-restate";

const agent: Agent = {
  id: AgentId("a"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};
const createContext: CreateRunContext = () => {
  throw new Error("nobody works here");
};

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
  const options = { createContext, ingress: "http://localhost:1", admin: "http://localhost:2", ...change };
  expect(() => restateRuntime(options)).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});

test("R24: a runtime registers agents and nothing else", () => {
  const runtime = restateRuntime({
    createContext,
    ingress: "http://localhost:1",
    admin: "http://localhost:2",
  });
  expect(() => runtime.register({} as never)).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", field: "agent" }),
  );
});
