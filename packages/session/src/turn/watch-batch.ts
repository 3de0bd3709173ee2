import type { Leaf, RunContext, Tool, ToolCall, ToolResult } from "@ravi/kernel";
import { toToolResult } from "@ravi/kernel/loop";

/**
 * The same context, but what each call of a batch gave is told as soon as it is there. A turn that is aborted in the middle of
 * a batch then keeps what was done, and does not wait for a tool that hears no signal.
 */
export function watchBatch(ctx: RunContext, done: (call: ToolCall, result: ToolResult) => void): RunContext {
  const batch = (leaves: readonly Leaf[]): unknown =>
    ctx.batch(
      leaves.map((leaf) =>
        leaf.kind === "tool"
          ? { ...leaf, tool: telling(leaf.tool, (result) => done(leaf.call, result)) }
          : leaf,
      ),
    );
  return new Proxy(ctx, {
    get(target, key): unknown {
      if (key === "batch") return batch;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Made on top of the tool, so that everything else of it stays as it is. */
function telling(tool: Tool, done: (result: ToolResult) => void): Tool {
  const execute: Tool["execute"] = async (args, context) => {
    const value = await tool.execute(args, context);
    done(toToolResult(value));
    return value;
  };
  return Object.create(tool, { execute: { value: execute } }) as Tool;
}
