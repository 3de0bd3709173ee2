import { byId, fill, make } from "./dom.js";
import { duration, reasonOf } from "./view.js";

/** @typedef {import("@ravi/kernel").RunSummary} RunSummary */

/**
 * Shows the list of runs.
 *
 * @param {readonly RunSummary[]} runs
 * @param {{ selected: string | null, now: number, choose: (runId: string) => void }} options
 */
export function drawList(runs, { selected, now, choose }) {
  const rows = runs.map((run) => {
    const { runId, agent, status, startedAt } = run;
    return {
      runId,
      agent,
      status,
      age: `${duration(now - startedAt)} ago`,
      reason: reasonOf(run),
      isChosen: runId === selected,
    };
  });
  fill(byId("runs"), rows, () =>
    rows.map(({ runId, agent, status, age, reason, isChosen }) => {
      const button = make("button", { type: "button", class: "choice", onclick: () => choose(runId) }, [
        make("span", { class: "name" }, [agent]),
        make("span", { class: `badge ${status}` }, [status]),
        make("span", { class: "quiet" }, [`${age}, ${runId}`]),
        reason === "" ? null : make("span", { class: "reason" }, [reason]),
      ]);
      if (isChosen) button.setAttribute("aria-current", "true");
      return make("li", {}, [button]);
    }),
  );
}
