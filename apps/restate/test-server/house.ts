import { createRunContext } from "@ravi/runtime";
import { restateRuntime, type RestateRuntimeOptions } from "@ravi/runtime-restate";
import type { RuntimeHouse, RuntimeUnderTest } from "@ravi/testing/suites";
import type { RestateServer } from "../src/server.ts";

/** Runtimes in this process as workers of one server, each with its own deployment. `crash` closes all connections of one. */
export function house(server: RestateServer, more: Partial<RestateRuntimeOptions> = {}): RuntimeHouse {
  const exits = new WeakMap<RuntimeUnderTest, () => Promise<void>>();
  return {
    async create(setup) {
      const { ingress, admin } = server;
      const runtime = restateRuntime({ ...setup, ...more, createContext: createRunContext, ingress, admin });
      const open = await runtime.listen({ host: "127.0.0.1", port: 0 });
      await runtime.deploy(`http://127.0.0.1:${open.port}`);
      exits.set(runtime, () => open.close());
      return runtime;
    },
    async crash(runtime) {
      await exits.get(runtime)?.();
      await runtime.close();
    },
    close: () => {},
  };
}
