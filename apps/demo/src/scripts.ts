import { type ModelRequest, textOf } from "@ravi/kernel";
import type { Answer } from "@ravi/testing";

// What the stand-in models say. There is no reasoning in here, but every answer depends on what was really sent: a note
// with another price, or a tool that fails, gives another result.

const VENDORS = ["acme", "borealis", "cascade"];

export function leadSays(request: ModelRequest): Answer {
  const reports = resultsOf(request, "handoff_researcher");
  if (reports.length === 0) {
    const quantity = Number(/(\d[\d,]*) sensors/.exec(lastUser(request))?.[1]?.replaceAll(",", "") ?? 1);
    const toolCalls = VENDORS.map((vendor) => ({
      name: "handoff_researcher",
      arguments: { task: `What do ${quantity} sensors from ${vendor} cost in all?` },
    }));
    return { toolCalls };
  }
  const offers = reports.flatMap((report) => {
    const found = /^(\w+): \$([\d.]+)$/.exec(report);
    return found === null ? [] : [{ vendor: String(found[1]), total: Number(found[2]) }];
  });
  const best = offers.toSorted((a, b) => a.total - b.total)[0];
  const missing = reports.length - offers.length;
  if (best === undefined) return "No vendor could be priced.";
  const note = missing === 0 ? "" : ` (${missing} of ${reports.length} could not be priced)`;
  return `${best.vendor} is the cheapest at $${best.total.toFixed(2)}${note}.`;
}

export function researcherSays(request: ModelRequest): Answer {
  const [, quantity = "1", vendor = ""] =
    /What do (\d+) sensors from (\w+) cost/.exec(lastUser(request)) ?? [];
  const note = resultsOf(request, "read_note")[0];
  if (note === undefined) return { toolCalls: [{ name: "read_note", arguments: { vendor } }] };
  const total = resultsOf(request, "calculate")[0];
  if (total !== undefined) return `${vendor}: $${total}`;
  const price = Number(/\$([\d.]+) a piece/.exec(note)?.[1]);
  const shipping = Number(/Shipping is \$([\d.]+)/.exec(note)?.[1]);
  if (Number.isNaN(price) || Number.isNaN(shipping)) return `The note on ${vendor} does not say.`;
  return { toolCalls: [{ name: "calculate", arguments: { price, quantity: Number(quantity), shipping } }] };
}

function lastUser(request: ModelRequest): string {
  const message = request.messages.findLast(({ role }) => role === "user");
  return message === undefined ? "" : textOf(message);
}

function resultsOf(request: ModelRequest, tool: string): string[] {
  return request.messages.flatMap((message) =>
    message.role === "tool" && message.name === tool ? [textOf(message)] : [],
  );
}
