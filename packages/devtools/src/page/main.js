import { answerWait, cancelRun, listRuns, showEvents, showRun } from "./api.js";
import { byId, make } from "./dom.js";
import { drawList } from "./list.js";
import { runView } from "./run.js";

/** How long to wait before the next look, and how many times as long as the last one took: a long record must not keep a processor busy. */
const LOOK_EVERY_MS = 1_000;
const REST = 4;
const STEP = 200;

let limit = STEP;
/** @type {string | null} */
let selected = new URLSearchParams(location.hash.slice(1)).get("run");
/** @type {ReturnType<typeof runView> | undefined} */
let view;
/** What is known of the run that is shown: only what has changed is asked for again. */
let known = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;
let isLooking = false;
/** Whether somebody has chosen or answered something while it looked. */
let isAskedAgain = false;
/** Why the last answer was refused, until the next one. */
let refusal = "";

const status = byId("status");
const more = byId("more");

more.addEventListener("click", () => {
  limit += STEP;
  void look();
});
addEventListener("hashchange", () => {
  const given = new URLSearchParams(location.hash.slice(1));
  // Somebody has put the whole address into this tab, where the page was already.
  if (given.has("key")) location.reload();
  else choose(given.get("run"));
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void look();
});
void look();

/** @param {string | null} runId */
function choose(runId) {
  if (runId === selected) return;
  selected = runId;
  view = undefined;
  known = "";
  refusal = "";
  // The buttons of another run must not be seen below the name of this one, which may never be shown: its record may be damaged.
  byId("run").replaceChildren(make("p", {}, [runId === null ? "Choose a run." : "Reading the run …"]));
  location.hash = runId === null ? "" : String(new URLSearchParams({ run: runId }));
  void look();
}

/** Looks now, and then again and again while the page is seen. */
async function look() {
  isAskedAgain = isLooking;
  if (isLooking) return;
  isLooking = true;
  clearTimeout(next);
  const begun = performance.now();
  try {
    await lookOnce();
    say(refusal);
  } catch (error) {
    say(messageOf(error));
  }
  isLooking = false;
  const restMs = isAskedAgain ? 0 : Math.max(LOOK_EVERY_MS, REST * (performance.now() - begun));
  if (!document.hidden) next = setTimeout(() => void look(), restMs);
}

async function lookOnce() {
  const runId = selected;
  const { runs, total, selected: summary, isReadOnly, now } = await listRuns(limit, runId);
  drawList(runs, { selected: runId, now, choose });
  more.hidden = runs.length === total;
  document.title = `${total} ${total === 1 ? "run" : "runs"}`;
  // There is nothing to choose from.
  if (runId === null && total === 1 && runs[0] !== undefined) choose(runs[0].runId);
  if (runId === null) return;
  if (summary === null) throw new Error(`There is no run ${runId}.`);
  // Of a run that works, the time goes on too.
  const seen = JSON.stringify([summary, summary.status === "running" && now]);
  if (seen === known) return;
  const shown = await showRun(runId);
  // Somebody has chosen another one meanwhile.
  if (runId !== selected) return;
  view ??= runView(byId("run"), isReadOnly ? { answer: undefined, cancel: undefined } : actionsOf(runId));
  const drawn = view;
  drawn.draw(shown);
  if (shown.report.entries > 0) drawn.log.add(await showEvents(runId, drawn.log.known));
  // Meanwhile another one may have been chosen, and then this one again, which is not drawn yet.
  if (view === drawn) known = seen;
}

/** @param {string} runId */
function actionsOf(runId) {
  return {
    /** @type {import("./waits.js").Answer} */
    answer: (wait, value) => void act(() => answerWait(runId, wait, value)),
    cancel: () => {
      const reason = prompt("Why is the run to be cancelled? It ends for good.", "cancelled on the page");
      if (reason !== null && reason !== "") void act(() => cancelRun(runId, reason));
    },
  };
}

/** @param {() => Promise<void>} action */
async function act(action) {
  refusal = "";
  try {
    await action();
  } catch (error) {
    refusal = messageOf(error);
  }
  await look();
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** @param {string} text */
function say(text) {
  if (status.textContent !== text) status.textContent = text;
}
