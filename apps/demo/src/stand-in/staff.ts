import type { AnswerParts } from "@ravi/testing";
import { type Conversation, of } from "./conversation.ts";
import { type Offer, offerFrom, offerLine, readOffer } from "./offers.ts";

// The stand-in model's answers, by role. They follow a script, but depend on what is really sent: another price in a document, a
// tool that fails or a helper that is not hired leads to another report.

type Says = string | AnswerParts;

/** The date on which the fact-checker judges which document is valid. */
const TODAY = "2026-11-15";

export function lead(conversation: Conversation): Says {
  const { task, exchanges, isLast } = conversation;
  const found = exchanges.filter(({ name }) => /researcher|archivist/.test(name));
  const analysis = of(conversation, "handoff_analyst")[0];
  const report = of(conversation, "handoff_writer")[0];
  const findings = found.map(({ result, isError }) => (isError ? `(${result})` : result)).join("\n");
  if (isLast) return report?.result ?? `Not finished. What there is so far:\n${analysis?.result ?? findings}`;
  if (found.length === 0) return { toolCalls: firstTasks(task) };
  if (found.every(({ isError }) => isError))
    return `There is no answer, because nobody could work:\n${findings}`;
  if (analysis === undefined)
    return handOff("analyst", `Compare these offers for ${quantityIn(task)} sensors:\n${findings}`);
  if (report === undefined)
    return handOff("writer", `Question: ${task}\nFindings:\n${findings}\nAnalysis:\n${analysis.result}`);
  return report.result;
}

function firstTasks(question: string) {
  const named = question.match(/Acme|Borealis|Cascade/gi) ?? ["Acme", "Borealis", "Cascade"];
  const quantity = quantityIn(question);
  return [
    ...new Set(named).values().map((vendor) => ({
      name: "handoff_researcher",
      arguments: { task: `What do ${quantity} sensors from ${vendor} cost in all, and on what terms?` },
    })),
    { name: "handoff_archivist", arguments: { task: "How did our past orders of sensors go?" } },
  ];
}

function handOff(to: string, task: string): Says {
  return { toolCalls: [{ name: `handoff_${to}`, arguments: { task } }] };
}

function quantityIn(text: string): number {
  return Number(/\d[\d,]*/.exec(text)?.[0]?.replaceAll(",", "") ?? 1);
}

/** With at least this many documents, the first one is read alone: it may be all that is needed. */
const MANY = 5;

export function researcher(conversation: Conversation): Says {
  const { task, isLast } = conversation;
  const [, quantity = "1", vendor = ""] = /What do (\d+) sensors from (\w+)/.exec(task) ?? [];
  const read = of(conversation, "read").map((exchange) => ({
    name: exchange.argument("document"),
    text: exchange.result,
  }));
  const ruling = of(conversation, "handoff_fact_checker")[0];
  const total = of(conversation, "calculate")[0];
  const offer = offerFrom({
    vendor,
    quantity: Number(quantity),
    documents: read,
    ruling: ruling?.result ?? "",
  });
  if (isLast || total !== undefined) return offerLine({ ...offer, total: total?.result });

  const listed = of(conversation, "search")[0];
  if (listed === undefined) return { toolCalls: [{ name: "search", arguments: { query: vendor } }] };
  const unread = listed.result
    .split("\n")
    .filter(
      (name) => name.startsWith(vendor.toLowerCase()) && !read.some((document) => document.name === name),
    );
  if (unread.length > 0) {
    const next = unread.length < MANY || read.length > 0 ? unread : unread.slice(0, 1);
    return { toolCalls: next.map((document) => ({ name: "read", arguments: { document } })) };
  }
  if (offer.prices.length > 1 && ruling === undefined) {
    const said = offer.prices.map(({ document, each }) => `${document} says $${each} a piece`).join(", ");
    return handOff("fact_checker", `${vendor}: ${said}. Which holds on ${TODAY}?`);
  }
  if (offer.each === undefined || offer.shipping === undefined) return offerLine(offer);
  const expression = `${quantity} * ${offer.each} + ${offer.shipping}`;
  return { toolCalls: [{ name: "calculate", arguments: { expression } }] };
}

export function factChecker(conversation: Conversation): Says {
  const { task } = conversation;
  const names = [...task.matchAll(/(\S+) says/g)].map(([, name = ""]) => name);
  const read = of(conversation, "read");
  if (read.length === 0)
    return { toolCalls: names.map((document) => ({ name: "read", arguments: { document } })) };
  const validFrom = read.map((exchange) => ({
    name: exchange.argument("document"),
    date: /Valid from (\S+)\./.exec(exchange.result)?.[1] ?? "9999",
  }));
  const holds = validFrom
    .filter(({ date }) => date <= TODAY)
    .toSorted((a, b) => (a.date < b.date ? 1 : -1))[0];
  if (holds === undefined) return "None of them holds today.";
  const others = validFrom
    .filter(({ name }) => name !== holds.name)
    .map(({ name, date }) => `${name} is valid from ${date}`);
  return `${holds.name} holds: ${others.join(", ")}.`;
}

export function archivist(conversation: Conversation): Says {
  const read = of(conversation, "read");
  const listed = of(conversation, "search")[0];
  if (listed === undefined) return { toolCalls: [{ name: "search", arguments: { query: "past orders" } }] };
  const next = listed.result
    .split("\n")
    .find(
      (name) =>
        name.startsWith("past-orders") && !read.some((exchange) => exchange.argument("document") === name),
    );
  if (next !== undefined && !conversation.isLast)
    return { toolCalls: [{ name: "read", arguments: { document: next } }] };
  const orders = read.flatMap(({ result }) => [
    ...result.matchAll(/sensors from (\w+), (on time|\d+ weeks late)/g),
  ]);
  const told = orders.map(([, vendor, how]) => `${vendor} ${how}`);
  return `Past orders: ${told.join(", ") || "none found"}.`;
}

export function analyst(conversation: Conversation): Says {
  const { task, isLast } = conversation;
  const needs = of(conversation, "read")[0];
  if (needs === undefined && !isLast)
    return { toolCalls: [{ name: "read", arguments: { document: "requirements" } }] };
  const weeks = Number(/within (\d+) weeks/.exec(needs?.result ?? "")?.[1] ?? Infinity);
  const months = Number(/at least (\d+) months/.exec(needs?.result ?? "")?.[1] ?? 0);
  const offers = task.split("\n").flatMap((line) => readOffer(line) ?? []);
  const meets = ({ total, deliveryWeeks = Infinity, warrantyMonths = 0 }: Offer): boolean =>
    total !== undefined && deliveryWeeks <= weeks && warrantyMonths >= months;
  const [best, next] = offers.filter(meets).toSorted((a, b) => Number(a.total) - Number(b.total));
  const out = offers.filter((offer) => !meets(offer)).map(({ vendor }) => vendor);
  const rest = out.length === 0 ? "" : ` Not comparable, or not within the requirements: ${out.join(", ")}.`;
  if (best === undefined) return `Nobody meets the requirements.${rest}`;
  const ahead = of(conversation, "calculate")[0];
  if (next !== undefined && ahead === undefined && !isLast) {
    return { toolCalls: [{ name: "calculate", arguments: { expression: `${next.total} - ${best.total}` } }] };
  }
  const margin =
    next === undefined || ahead === undefined ? "" : ` and is $${ahead.result} ahead of ${next.vendor}`;
  return `${best.vendor} at $${best.total} meets the requirements (${weeks} weeks, ${months} months)${margin}.${rest}`;
}

export function writer({ task }: Conversation): Says {
  const [, question = "", findings = "", analysis = ""] =
    /^Question: (.*)\nFindings:\n([^]*)\nAnalysis:\n([^]*)$/.exec(task) ?? [];
  const lines = findings.split("\n");
  const offers = lines.flatMap((line) => readOffer(line) ?? []);
  const rows = offers.map(
    ({ vendor, total, deliveryWeeks, warrantyMonths }) =>
      `| ${vendor} | ${total === undefined ? "open" : `$${total}`} | ${deliveryWeeks ?? "?"} weeks | ${warrantyMonths ?? "?"} months |`,
  );
  const others = lines.filter((line) => readOffer(line)?.total === undefined).map((line) => `- ${line}`);
  return [
    `# ${question}`,
    "",
    `**${analysis}**`,
    "",
    "| vendor | total | delivery | warranty |",
    "|---|---|---|---|",
    ...rows,
    "",
    ...others,
  ].join("\n");
}
