import { listOf } from "./list.js";
import { addEvent, itemsOf, itemsOfTurn } from "./view.js";

/** @typedef {import("./view.js").Item} Item */

// The chat is named in the address, so that it can be opened again. What stands there may be anything.
const [chatId = crypto.randomUUID()] = /^[\w-]{1,64}$/.exec(location.hash.slice(1)) ?? [];
history.replaceState(null, "", `#${chatId}`);
addEventListener("hashchange", () => location.reload());
const chatUrl = `/api/chats/${encodeURIComponent(chatId)}`;

const LOST = "The connection is lost. Connecting again …";

/** @type {Item[]} */
let past = [];
/** @type {Item[]} */
let present = [];
/** @type {string | null} */
let runId = null;
/** @type {EventSource | undefined} */
let source;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let again;
let frame = 0;

const list = element("items");
const drawList = listOf(list, (call, approved) => void act(() => answer(call, approved)));
const text = /** @type {HTMLInputElement} */ (element("text"));
const stopButton = element("stop");
const status = element("status");
/** The other tabs with this chat. */
const tabs = new BroadcastChannel(`chat ${chatId}`);

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (text.value.trim() !== "" && !text.readOnly && runId === null) void act(send);
});
stopButton.addEventListener("click", () => {
  // The button goes.
  text.focus();
  void act(() => request(`/api/runs/${runId}/stop`, {}));
});
tabs.addEventListener("message", () => void load());
// A browser has six connections to a server, for all tabs together. A tab that nobody looks at gives its own back.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) source?.close();
  // Not from the record: a turn that has failed meanwhile is not part of the conversation.
  else if (runId !== null) watch(runId);
});
void load();

async function send() {
  say("Sending …");
  // While a slow server has not answered: more text would be lost, and a second Enter would send a second message.
  text.readOnly = true;
  try {
    const { runId: begun = "" } = await request(`${chatUrl}/messages`, { text: text.value });
    text.value = "";
    text.focus();
    scrollToEnd();
    watch(String(begun));
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
    tabs.postMessage(begun);
  } catch (error) {
    // It may have reached the server nevertheless, or another turn runs: the page shows it.
    await read().catch(() => {});
    throw error;
  } finally {
    text.readOnly = false;
  }
}

/**
 * @param {import("./view.js").Called} call
 * @param {boolean} approved
 */
async function answer(call, approved) {
  const { question: name } = call;
  delete call.question;
  show();
  try {
    await request(`/api/runs/${runId}/answers`, { name, approved });
  } catch (error) {
    // Unless another tab has answered it.
    const isOpen = !(error instanceof Error && error.cause === 409) && call.output === undefined;
    if (name !== undefined && isOpen) call.question = name;
    show();
    throw error;
  }
}

/** Shows what is on record and follows the turn that runs, as soon as the server answers. */
async function load() {
  clearTimeout(again);
  try {
    await read();
    say("");
  } catch (error) {
    say(`${messageOf(error)} Trying again …`);
    // One timer, however many have failed.
    clearTimeout(again);
    again = setTimeout(() => void load(), 1_000);
  }
}

/** @returns {Promise<void>} */
async function read() {
  const before = present;
  const { messages = [], lost = [], runId: current } = await request(chatUrl);
  // A turn has begun or ended meanwhile.
  if (present !== before) return read();
  source?.close();
  past = [...itemsOf(messages), ...lost.flatMap(itemsOfTurn)];
  present = [];
  runId = null;
  if (current) watch(current);
  else show();
}

/** @param {string} id */
function watch(id) {
  runId = id;
  present = [];
  source?.close();
  show();
  // It is followed when somebody looks.
  if (document.hidden) return;
  // It connects again by itself, with the id of the last event that it has.
  const events = (source = new EventSource(`/api/runs/${id}/events`));
  events.addEventListener("message", ({ data }) => {
    addEvent(present, /** @type {import("@ravi/sdk").RunEvent} */ (JSON.parse(String(data))));
    // Many events may come between two frames.
    frame ||= requestAnimationFrame(show);
  });
  // The server was started anew, and the turn is told from its beginning.
  events.addEventListener("reset", () => (present = []));
  events.addEventListener("end", () => {
    events.close();
    // A turn that failed is not part of the conversation, but was seen.
    past = [...past, ...present];
    present = [];
    runId = null;
    show();
  });
  events.addEventListener("open", () => {
    if (status.textContent === LOST) say("");
  });
  events.addEventListener("error", () => {
    // The server does not know the turn any more, or is just being restarted.
    if (events.readyState === EventSource.CLOSED) void load();
    else say(LOST);
  });
}

function show() {
  cancelAnimationFrame(frame);
  frame = 0;
  const { scrollTop, clientHeight, scrollHeight } = document.documentElement;
  drawList([...past, ...present]);
  // A screen reader is to read a whole answer, or a question, and not each piece of text.
  const isAsked = present.some((item) => item.kind === "tool" && item.question !== undefined);
  list.ariaBusy = String(runId !== null && !isAsked);
  stopButton.hidden = runId === null;
  element("send").hidden = runId !== null;
  // Who has scrolled up stays there.
  if (scrollTop + clientHeight > scrollHeight - 20) scrollToEnd();
}

function scrollToEnd() {
  document.documentElement.scrollTop = document.documentElement.scrollHeight;
}

/**
 * @typedef {{ error?: string, runId?: string | null, messages?: import("@ravi/sdk").ChatMessage[],
 *   lost?: import("@ravi/sdk").RunEvent[][] }} Answer
 *
 * @param {string} path
 * @param {object} [body] Posted if there is one.
 * @returns {Promise<Answer>}
 */
async function request(path, body) {
  const headers = { "content-type": "application/json" };
  const init = body && { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(path, init).catch((/** @type {unknown} */ cause) => {
    throw new Error("The server cannot be reached.", { cause });
  });
  // A proxy answers with a page of its own, and an answer may break off.
  const told = /** @type {Answer | undefined} */ (await response.json().catch(() => undefined));
  if (!response.ok || told === undefined)
    throw new Error(told?.error ?? `The answer, with status ${response.status}, cannot be read.`, {
      cause: response.status,
    });
  return told;
}

/** @param {() => Promise<unknown>} what */
async function act(what) {
  try {
    await what();
    say("");
  } catch (error) {
    say(messageOf(error));
  }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} line */
function say(line) {
  status.textContent = line;
}

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}
