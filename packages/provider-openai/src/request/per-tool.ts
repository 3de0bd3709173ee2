import type { ToolSpec } from "@ravi/kernel";

/** Caches the result for each tool spec, since the same specs go out with every request of a run. */
export function perTool<T extends object>(make: (spec: ToolSpec) => T): (spec: ToolSpec) => T {
  const made = new WeakMap<ToolSpec, T>();
  return (spec) => {
    let tool = made.get(spec);
    if (tool === undefined) made.set(spec, (tool = make(spec)));
    return tool;
  };
}
