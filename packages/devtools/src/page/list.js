import { byId, fill, make } from "./dom.js";
import { duration, reasonOf } from "./view.js";

/** @typedef {import("@ravi/kernel").RunSummary} RunSummary */

/**
 * The buttons that are on the page, by run. They stay what they are, so that a click or the focus is not lost with them.
 *
 * @type {Map<string, HTMLButtonElement>}
 */
let buttons = new Map();

/**
 * Shows the list of runs.
 *
 * @param {readonly RunSummary[]} runs
 * @param {{ selected: string | null, now: number, choose: (runId: string) => void }} options
 */
export function drawList(runs, { selected, now, choose }) {
  const before = buttons;
  buttons = new Map();
  for (const run of runs) {
    const { runId } = run;
    const button =
      before.get(runId) ?? make("button", { type: "button", class: "choice", onclick: () => choose(runId) });
    buttons.set(runId, button);
    drawRun(button, run, `${duration(now - run.startedAt)} ago`);
    if (runId === selected) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  const focused = [...buttons.values()].find((button) => button === document.activeElement);
  fill(byId("runs"), [...buttons.keys()], () =>
    [...buttons.values()].map((button) => make("li", {}, [button])),
  );
  focused?.focus();
}

/**
 * @param {HTMLButtonElement} button
 * @param {RunSummary} run
 * @param {string} age
 */
function drawRun(button, run, age) {
  const { runId, agent, status } = run;
  const reason = reasonOf(run);
  fill(button, [agent, status, age, reason], () => [
    make("span", { class: "name" }, [agent]),
    make("span", { class: `badge ${status}` }, [status]),
    make("span", { class: "quiet" }, [`${age}, ${runId}`]),
    reason === "" ? null : make("span", { class: "reason" }, [reason]),
  ]);
}
