// What the page shows, computed from what the server sends. No DOM here, so that it can be tested.

/**
 * @typedef {import("@ravi/kernel").AgentAccount} AgentAccount
 * @typedef {import("@ravi/kernel").AgentEvent} AgentEvent
 * @typedef {import("@ravi/kernel").ContentPart} ContentPart
 * @typedef {import("@ravi/kernel").PendingWait} PendingWait
 * @typedef {import("@ravi/kernel").RecordedCall} RecordedCall
 * @typedef {import("@ravi/kernel").RunReport} RunReport
 * @typedef {import("@ravi/kernel").RunSummary} RunSummary
 *
 * @typedef {{ account: AgentAccount, depth: number }} Row
 * @typedef {{ name: string, text: string, part: number }} Limit
 * @typedef {{ call: RecordedCall, who: string, left: number, width: number, text: string }} Bar
 * @typedef {{ kind: string, text: string }} Line
 */

/** @param {number} usd */
export function dollars(usd) {
  const text = usd >= 1 ? usd.toFixed(2) : Number(usd.toPrecision(4)).toFixed(9).replace(/0+$/, "");
  return `$${text.replace(/\.(?:00)?$/, "")}`;
}

/** @param {number} amount */
export const grouped = (amount) => amount.toLocaleString("en-US");

/** @param {number} ms */
export function duration(ms) {
  const seconds = Math.max(0, ms / 1_000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** @type {Readonly<Record<AgentAccount["priority"], string>>} */
const PRIORITIES = { 0: "background", 1: "low", 2: "normal", 4: "high", 8: "critical" };

/** @param {AgentAccount["priority"]} priority */
export const priorityOf = (priority) => PRIORITIES[priority] ?? String(priority);

/** @param {RunSummary} run */
export const isOpen = ({ status }) => status === "pending" || status === "running" || status === "suspended";

/** Why a run stands as it does, in a line. @param {RunSummary} run */
export function reasonOf({ error, cancelReason, waitingFor = [], status }) {
  if (cancelReason !== undefined) return `cancelled: ${cancelReason}`;
  const [first, ...others] = waitingFor;
  if (first !== undefined) {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `${first.agentId} waits for ${kindOf(first)}${more}`;
  }
  return status === "completed" ? "" : (error?.message ?? "");
}

/** @param {PendingWait} wait */
export function kindOf(wait) {
  if (isBudget(wait)) return "more budget";
  return { approval: "an approval", signal: "an answer", timer: "a time", decision: "a decision" }[wait.kind];
}

/** Whether it is a request for more budget, whose answer is an amount. @param {PendingWait} wait */
export const isBudget = ({ name, execId }) => name === `approval:budget:${execId}`;

/**
 * Whether it gets the next answer: of several waits of one name, the one that has waited longest does.
 *
 * @param {PendingWait} wait
 * @param {readonly PendingWait[]} all
 */
export const isNext = (wait, all) => all.find(({ name }) => name === wait.name) === wait;

/** What is asked: of a tool call its name and its arguments. @param {PendingWait} wait */
export function questionOf({ question }) {
  if (question === undefined || question === null) return "";
  if (typeof question !== "object" || !("tool" in question)) return visible(asText(question));
  const { tool, arguments: given } = question;
  return visible(given === undefined ? asText(tool) : `${asText(tool)} ${asText(parsed(given))}`);
}

/** What a browser does not show: control characters, those without width, those that change the direction of text. */
const HIDDEN = /(?!\n)[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

/** With the codes of what would be hidden, as JSON escapes them: what is approved must be what was read. @param {string} text */
function visible(text) {
  return text.replaceAll(HIDDEN, (char) =>
    Array.from({ length: char.length }, (_, at) => {
      const code = char.charCodeAt(at).toString(16);
      return `\\u${code.padStart(4, "0")}`;
    }).join(""),
  );
}

/** @param {unknown} value */
function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/**
 * The value itself, or what it says if it is a text of JSON.
 *
 * @param {unknown} value
 * @returns {unknown}
 */
function parsed(value) {
  if (typeof value !== "string") return value;
  try {
    return /** @type {unknown} */ (JSON.parse(value));
  } catch {
    return value;
  }
}

/**
 * What was typed as an answer: JSON, or else a text.
 *
 * @param {string} text
 * @returns {unknown}
 */
export const answerIn = (text) => parsed(text.trim());

/**
 * The budget that was typed: dollars, or JSON that names what is added. Undefined if it is neither.
 *
 * @param {string} text
 * @returns {object | undefined}
 */
export function amountIn(text) {
  const usd = Number(text);
  if (usd > 0 && usd < Infinity) return { cost: usd };
  const value = answerIn(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** Why an agent was cut off, in a few words. @param {AgentAccount} account */
export function cutOffOf({ stopReason, stoppedBy }) {
  if (stoppedBy === undefined) return stopReason ?? "";
  return `${stopReason}: ${stoppedBy.dimension} of ${stoppedBy.scope}`;
}

/**
 * The agents as a tree: each below the one that hired it.
 *
 * @param {readonly AgentAccount[]} agents
 * @returns {Row[]}
 */
export function rowsOf(agents) {
  /** @type {Map<AgentAccount | undefined, AgentAccount[]>} */
  const helpers = new Map();
  /** @type {Map<string, AgentAccount>} */
  const newest = new Map();
  const [root] = agents;
  for (const account of agents) {
    // Each comes after the one that hired it. One whose parent is not known is shown below the root.
    const above = account === root ? undefined : (newest.get(account.parent ?? "") ?? root);
    helpers.set(above, [...(helpers.get(above) ?? []), account]);
    newest.set(account.agentId, account);
  }
  /** @type {Row[]} */
  const rows = [];
  /** @type {Row[]} */
  const open = root === undefined ? [] : [{ account: root, depth: 0 }];
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    const { account, depth } = row;
    rows.push(row);
    for (const helper of (helpers.get(account) ?? []).toReversed())
      open.push({ account: helper, depth: depth + 1 });
  }
  return rows;
}

/**
 * How much of each limit is used up.
 *
 * @param {RunReport} report
 * @param {number} now
 * @param {Pick<AgentAccount, "modelCalls" | "toolCalls">} [unlisted] Of agents that are not in the report.
 * @returns {Limit[]}
 */
export function limitsOf(report, now, unlisted = { modelCalls: 0, toolCalls: 0 }) {
  const { cost, usage, agents, startedAt, updatedAt } = report;
  const budget = report.limits.executionBudget;
  const tokens = usage.inputTokens + usage.outputTokens;
  const sum = (/** @type {"modelCalls" | "toolCalls"} */ field) =>
    agents.reduce((all, agent) => all + agent[field], unlisted[field]);
  const ms = (isOpen(report) ? now : updatedAt) - startedAt;
  return [
    limit("cost", cost, budget?.maxCostUsd, dollars),
    limit("tokens", tokens, budget?.maxTokens, grouped),
    limit("model calls", sum("modelCalls"), budget?.maxTurns, grouped),
    limit("tool calls", sum("toolCalls"), budget?.maxToolCalls, grouped),
    limit("time", ms / 1_000, budget?.deadlineS, (seconds) => duration(seconds * 1_000)),
  ];
}

/**
 * @param {string} name
 * @param {number | null} used
 * @param {number | null | undefined} most
 * @param {(amount: number) => string} write
 * @returns {Limit}
 */
function limit(name, used, most, write) {
  const text = used === null ? "unknown" : write(used);
  if (most === null || most === undefined) return { name, text, part: 0 };
  return { name, text: `${text} of ${write(most)}`, part: used === null ? 1 : most === 0 ? 1 : used / most };
}

/**
 * The calls on a common line of time, of which each takes a part.
 *
 * @param {RunReport} report
 * @param {number} now
 * @returns {Bar[]}
 */
export function barsOf({ calls, agents, updatedAt, heldBy }, now) {
  // A call that a killed process had open ended at the latest with the last entry of its run.
  const ends = calls.map(({ endedAt }) => endedAt ?? (heldBy === undefined ? updatedAt : now));
  const first = Math.min(...calls.map(({ startedAt }) => startedAt));
  const span = Math.max(1, Math.max(...ends) - first);
  const names = new Map(agents.map(({ execId, agentId }) => [execId, agentId]));
  return calls.map((call, at) => {
    const { startedAt, execId, costUsd } = call;
    const ms = Math.max(0, (ends[at] ?? startedAt) - startedAt);
    const cost = costUsd === undefined ? "" : costUsd === null ? ", cost unknown" : `, ${dollars(costUsd)}`;
    const { status } = call;
    const goesOn = status === "open" || status === "waiting";
    const text = goesOn ? `${status} for ${duration(ms)}` : `${duration(ms)}${cost}`;
    return {
      call,
      who: names.get(execId) ?? execId,
      left: (startedAt - first) / span,
      width: ms / span,
      text,
    };
  });
}

/**
 * What an agent has said or done.
 *
 * @param {AgentEvent} event
 * @returns {Line}
 */
export function lineOf(event) {
  switch (event.type) {
    case "started":
      return { kind: "told", text: event.input };
    case "text":
      return { kind: "says", text: event.delta };
    case "reasoning":
      return { kind: "thinks", text: event.delta };
    case "usage": {
      const { usage, costUsd } = event;
      const cost = costUsd === null ? "an unknown amount" : dollars(costUsd);
      return {
        kind: "used",
        text: `${grouped(usage.inputTokens)} + ${grouped(usage.outputTokens)} tokens, ${cost}`,
      };
    }
    case "toolCall":
      return { kind: "calls", text: `${event.call.name} ${event.call.arguments}` };
    case "toolResult":
      return { kind: event.isError ? "fails" : "gets", text: `${event.name}: ${contentOf(event.content)}` };
    case "handoff":
      return { kind: "hires", text: `${event.to}: ${event.task}` };
    case "completed": {
      const { status, stopReason, output } = event.result;
      return {
        kind: "ends",
        text: `${stopReason === "done" ? status : `${status} (${stopReason})`}: ${output}`,
      };
    }
    case "error":
      return { kind: "error", text: `${event.error.code ?? "error"}: ${event.error.message}` };
    case "progress":
      return { kind: event.name, text: asText(event.data) };
    default:
      return { kind: event.type, text: "" };
  }
}

/** @param {string | readonly ContentPart[]} content */
function contentOf(content) {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `(${part.type})`)).join("\n");
}
