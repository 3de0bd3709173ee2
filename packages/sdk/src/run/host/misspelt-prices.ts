import type { Agent, Logger, ModelInfo } from "@ravi/kernel";
import { meantBy } from "@ravi/kernel/loop";
import { blueprintOf, teamOf } from "../../agents/made/blueprint.ts";
import type { HostOptions } from "../options.ts";
import { isSource } from "./meters.ts";
import { tellOnce } from "./tell-once.ts";

/**
 * Warns of a price that belongs to no model of the agents, but whose name is nearly that of one which has no price of its own. That one is
 * charged at the price of the catalogue, and the user would not know. It is no error: the price may be meant for another program's model.
 */
export function tellMisspelt(
  prices: HostOptions["prices"],
  agents: readonly Agent[],
  logger: Logger | undefined,
): void {
  if (prices === undefined || isSource(prices)) return;
  const models = agents.flatMap(teamOf).flatMap(modelsOf);
  const isOf = (name: string, { provider, model }: ModelInfo): boolean =>
    [model, `${provider}:${model}`, `${provider}/${model}`].includes(name);
  const names = Object.keys(prices);
  const unpriced = models.filter((info) => !names.some((name) => isOf(name, info)));
  for (const name of names) {
    const meant = unpriced.find((info) => isNearly(name, info));
    if (meant === undefined || models.some((info) => isOf(name, info))) continue;
    const model = `${meant.provider}:${meant.model}`;
    tellOnce(
      logger,
      `the price of ${JSON.stringify(name)} is used by no agent of this run; did you mean ${JSON.stringify(model)}, which has no price of its own in the option prices?`,
    );
  }
}

function modelsOf(agent: Agent): readonly ModelInfo[] {
  const { model, helperModel } = blueprintOf(agent) ?? {};
  return [model, helperModel].flatMap((each) => (each === undefined ? [] : [each.info]));
}

/** Not if a number is another one, as of another version. */
function isNearly(name: string, { provider, model }: ModelInfo): boolean {
  const [, place = provider, rest = name] = /^([^:/]+)[:/](.+)$/.exec(name) ?? [];
  const isLike = (text: string, known: string): boolean => meantBy(text, [known]) !== undefined;
  return digitsOf(rest) === digitsOf(model) && isLike(rest, model) && isLike(place, provider);
}

function digitsOf(name: string): string {
  return name.replaceAll(/\D+/g, " ").trim();
}
