import { make } from "./dom.js";
import { lineOf } from "./view.js";

/** @typedef {import("@ravi/kernel").RunEvent} RunEvent */

/** How many lines are kept on the page. */
const MOST_LINES = 2_000;

/**
 * What the agents say and do, which only ever grows at its end.
 *
 * @param {HTMLElement} list
 */
export function logOf(list) {
  let known = 0;
  return {
    /** How many events are shown, or were left out. */
    get known() {
      return known;
    },
    /** @param {import("./api.js").EventsAnswer} answer */
    add({ events, from, total }) {
      if (from > known)
        list.append(make("li", { class: "quiet" }, [`${from - known} earlier events are not shown`]));
      list.append(...events.map(draw));
      known = total;
      while (list.childElementCount > MOST_LINES) list.firstElementChild?.remove();
    },
  };
}

/** @param {RunEvent} event */
function draw({ at, agentId, event }) {
  const { kind, text } = lineOf(event);
  const time = new Date(at);
  const clock = Number.isNaN(time.getTime()) ? String(at) : time.toLocaleTimeString();
  return make("li", { class: `event ${event.type}` }, [
    make("span", { class: "quiet" }, [clock]),
    make("strong", {}, [agentId]),
    make("span", { class: "kind" }, [kind]),
    make("span", { class: "said" }, [text]),
  ]);
}
