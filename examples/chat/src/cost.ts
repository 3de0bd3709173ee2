import { addUsage, type LLMClient, NO_USAGE, type Usage } from "@ravi/kernel";
import { ModelMeter } from "@ravi/resources";
import type { SessionManager } from "@ravi/session";
import { STAND_IN } from "./models.ts";

const meter = new ModelMeter({ prices: { [STAND_IN]: { input: 0.1, output: 0.4 } } });

/** What a session has used, according to its entries. Branches that were left count too, since they were paid for. */
export async function costOf(manager: SessionManager, { info }: LLMClient): Promise<string> {
  const used = new Map<string, Usage>();
  for (const { id, kind } of manager.entries()) {
    if (kind !== "message") continue;
    const entry = await manager.read(id);
    if (entry.kind !== "message" || entry.usage === undefined) continue;
    const model = entry.model ?? info.model;
    used.set(model, addUsage(used.get(model) ?? NO_USAGE, entry.usage));
  }
  const lines: string[] = [];
  for (const [model, usage] of used) {
    const price = await meter.price({ ...info, model }, usage);
    const cost = "usd" in price ? `$${price.usd.toFixed(6)}` : "price unknown";
    lines.push(`${model}: ${usage.inputTokens} tokens in, ${usage.outputTokens} out, ${cost}`);
  }
  return lines.length === 0 ? "nothing used yet" : lines.join("\n");
}
