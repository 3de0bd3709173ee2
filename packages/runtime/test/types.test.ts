import type { Agent, RootHandle } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { expectTypeOf, test } from "vitest";

const runtime = new Runtime();

test("a handle has the type of its agent's answer, of a union of agents too, and inside of a function of any agent", () => {
  expectTypeOf((agent: Agent<number>) => runtime.run(agent, "?")).returns.toEqualTypeOf<RootHandle<number>>();
  expectTypeOf((agent: Agent<number> | Agent<string>) => runtime.run(agent, "?")).returns.toEqualTypeOf<
    RootHandle<number | string>
  >();
  const ask = <A extends Agent>(agent: A) => runtime.run(agent, "?");
  expectTypeOf((agent: Agent<number>) => ask(agent)).returns.toEqualTypeOf<RootHandle<number>>();
  const askFor = <T>(agent: Agent<T>): RootHandle<T> => runtime.run(agent, "?");
  expectTypeOf((agent: Agent<number>) => askFor(agent)).returns.toEqualTypeOf<RootHandle<number>>();
  expectTypeOf((agent: Agent<number>) => runtime.run<number>(agent, "?")).returns.toEqualTypeOf<
    RootHandle<number>
  >();
  expectTypeOf<ReturnType<Runtime["run"]>>().toEqualTypeOf<RootHandle>();
});
