import assert from "node:assert/strict";
import { defineTool, type RunEvent } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";

const copyRows = defineTool({
  name: "copy_rows",
  description: "Copies the new rows into the archive.",
  input: { type: "object", properties: {} }, // with zod, `execute` gets typed arguments: z.object({ table: z.string() })
  timeoutS: 600,
  async execute(_args, { signal, idempotencyKey, progress }) {
    for (let row = 1; row <= 3; row++) {
      signal.throwIfAborted();
      await archive(row, `${idempotencyKey}/${row}`);
      progress?.("rows", { done: row, of: 3 });
    }
    return "3 rows copied";
  },
});

// Whoever observes the run gets each report as an event. On a runtime: `onEvent` of `run`, or `events()` of its handle.
const seen: string[] = [];
const onEvent = ({ event }: RunEvent): void => {
  if (event.type === "progress") seen.push(`${event.callId}: ${event.name} ${JSON.stringify(event.data)}`);
};
const ctx = bareContext({ onEvent, validator: () => [] });
const { content } = await ctx.tool({ id: "call_0", name: "copy_rows", arguments: "{}" }, copyRows);
assert.equal(content, "3 rows copied");
assert.deepEqual(seen, [
  'call_0: rows {"done":1,"of":3}',
  'call_0: rows {"done":2,"of":3}',
  'call_0: rows {"done":3,"of":3}',
]);

/** Stands in for a service that does nothing at the second call with the same key. */
async function archive(_row: number, _key: string): Promise<void> {}
