import { bar, fill, make } from "./dom.js";
import { logOf } from "./log.js";
import { barsOf, cutOffOf, dollars, grouped, isOpen, limitsOf, priorityOf, rowsOf } from "./view.js";
import { waitsOf } from "./waits.js";

/**
 * @typedef {import("@ravi/kernel").RunReport} RunReport
 * @typedef {import("./api.js").RunAnswer} RunAnswer
 * @typedef {import("./waits.js").Answer} Answer
 */

/**
 * Shows one run.
 *
 * @param {HTMLElement} main
 * @param {{ answer: Answer | undefined, cancel: (() => void) | undefined }} actions Undefined on a page that only looks.
 */
export function runView(main, { answer, cancel }) {
  const [head, limits, tree, calls] = ["header", "limits", "tree", "calls"].map((name) =>
    make("div", { class: name }),
  );
  const waits = make("div", { class: "waits" });
  const waiting = waitsOf(waits, answer);
  const lines = make("ol", { class: "log", label: "Log" });
  main.replaceChildren(...present([head, limits, waits, tree, calls]), make("h2", {}, ["Log"]), lines);
  return {
    log: logOf(lines),
    /** @param {RunAnswer} shown */
    draw(shown) {
      const { report, agentsInAll, unlisted, callsInAll, now } = shown;
      if (!head || !limits || !tree || !calls) return;
      const facts = factsOf(report);
      fill(head, [facts, isOpen(report)], () => [
        make("h2", {}, [
          report.agent,
          " ",
          make("span", { class: `badge ${report.status}` }, [report.status]),
        ]),
        ...facts.map(([name, text]) =>
          make("p", { class: "fact" }, [make("span", { class: "quiet" }, [name]), text]),
        ),
        cancel === undefined || !isOpen(report)
          ? null
          : make("button", { type: "button", class: "cancel", onclick: cancel }, ["Cancel the run"]),
      ]);
      const used = limitsOf(report, now, unlisted);
      fill(limits, used, () =>
        used.map(({ name, text, part }) =>
          make("p", { class: "limit" }, [
            make("span", { class: "quiet" }, [name]),
            text,
            bar(part, part >= 0.8 ? "high" : ""),
          ]),
        ),
      );
      waiting.draw(report.waitingFor ?? []);
      fill(tree, [report.agents, agentsInAll], () => [
        treeOf(report),
        left(agentsInAll - report.agents.length, "agents"),
      ]);
      fill(calls, [report.calls, isOpen(report) && now], () => [
        ...callsOf(report, now),
        left(callsInAll - report.calls.length, "earlier calls"),
      ]);
    },
  };
}

/**
 * @template T
 * @param {readonly (T | undefined)[]} items
 * @returns {T[]}
 */
function present(items) {
  return items.filter((item) => item !== undefined);
}

/**
 * @param {RunReport} report
 * @returns {[name: string, text: string][]}
 */
function factsOf(report) {
  const { runId, input, result, error, cancelReason, heldBy, startedAt, inDoubt } = report;
  const stop = result === undefined || result.stopReason === "done" ? undefined : result.stopReason;
  const next = cancelReason === undefined ? "goes on" : "ends";
  /** @type {[string, string | undefined][]} */
  const facts = [
    ["run", runId],
    ["session", report.sessionId],
    ["tenant", report.tenantId],
    ["user", report.userId],
    ["started", new Date(startedAt).toLocaleString()],
    ["process", isOpen(report) ? (heldBy?.owner ?? `none: it ${next} when it is resumed`) : undefined],
    ["input", input],
    ["output", result?.output],
    ["stopped by", stop],
    ["error", (result?.error ?? error)?.message],
    ["cancelled", cancelReason],
    ["in doubt", inDoubt.join(", ")],
  ];
  return facts.flatMap(([name, text]) => (text === undefined || text === "" ? [] : [[name, text]]));
}

/** @param {RunReport} report */
function treeOf({ agents, cost }) {
  const head = ["agent", "status", "priority", "model calls", "tool calls", "tokens", "cost", ""];
  const body = rowsOf(agents).map(({ account, depth }) => {
    const { agentId, status, priority, modelCalls, toolCalls, retries, usage, costUsd } = account;
    const name = make("td", { class: "agent" }, [agentId]);
    name.style.paddingLeft = `${depth * 1.2 + 0.4}rem`;
    const again = retries === 0 ? "" : ` (${grouped(retries)} again)`;
    return make("tr", {}, [
      name,
      make("td", {}, [
        make("span", { class: `badge ${status}` }, [status]),
        make("span", { class: "reason" }, [` ${cutOffOf(account)}`]),
      ]),
      cell(priorityOf(priority)),
      cell(`${grouped(modelCalls)}${again}`),
      cell(grouped(toolCalls)),
      cell(grouped(usage.inputTokens + usage.outputTokens)),
      cell(costUsd === null ? "unknown" : dollars(costUsd)),
      make("td", { class: "share" }, [bar(costUsd === null || !cost ? 0 : costUsd / cost)]),
    ]);
  });
  return make("table", { label: "Agents" }, [
    make("thead", {}, [
      make(
        "tr",
        {},
        head.map((name) => make("th", {}, [name])),
      ),
    ]),
    make("tbody", {}, body),
  ]);
}

/** @param {string | number} text */
const cell = (text) => make("td", {}, [String(text)]);

/**
 * @param {RunReport} report
 * @param {number} now
 */
function callsOf(report, now) {
  if (report.calls.length === 0) return [];
  const bars = barsOf(report, now).map(({ call, who, left: from, width, text }) => {
    const mark = make("span", { class: `mark ${call.kind} ${call.status}` });
    mark.style.left = `${from * 100}%`;
    mark.style.width = `max(3px, ${width * 100}%)`;
    return make("li", { title: `${call.key}: ${call.status}` }, [
      make("span", { class: "who" }, [`${who}: ${call.name}`]),
      make("span", { class: "track" }, [mark]),
      make("span", { class: "quiet" }, [text]),
    ]);
  });
  return [make("h2", {}, ["Calls"]), make("ol", { class: "timeline", label: "Calls" }, bars)];
}

/**
 * @param {number} count
 * @param {string} what
 */
function left(count, what) {
  return count === 0 ? null : make("p", { class: "quiet" }, [`${grouped(count)} ${what} are not shown`]);
}
