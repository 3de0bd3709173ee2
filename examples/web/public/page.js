import { addEvent, itemsOf } from "./view.js";

/** @typedef {import("./view.js").Item} Item */

// The chat is named in the address, so that it can be opened again.
const chatId = location.hash.slice(1) || crypto.randomUUID();
history.replaceState(null, "", `#${chatId}`);
addEventListener("hashchange", () => location.reload());
/** What stands in an address may be anything; it must not lead to another route. */
const chatUrl = `/api/chats/${encodeURIComponent(chatId)}`;

/** @type {Item[]} */
let past = [];
/** @type {Item[]} */
let present = [];
/** @type {string | null} */
let runId = null;
/** @type {EventSource | undefined} */
let source;

const form = element("form");
const text = /** @type {HTMLInputElement} */ (element("text"));
const stopButton = element("stop");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const said = text.value;
  if (said.trim() === "" || runId !== null) return;
  void act(async () => {
    const { runId: begun = "" } = await post(`${chatUrl}/messages`, { text: said });
    text.value = "";
    watch(begun);
  });
});
stopButton.addEventListener("click", () => void act(() => post(`/api/runs/${runId}/stop`, {})));
void act(load);

/** Shows what is on record, and follows the turn that runs. */
async function load() {
  const response = await fetch(chatUrl);
  if (!response.ok) throw new Error(`${response.status}`);
  const chat = /** @type {{ messages: import("@ravi/sdk").ChatMessage[], runId: string | null }} */ (
    await response.json()
  );
  past = itemsOf(chat.messages);
  present = [];
  runId = null;
  if (chat.runId !== null) watch(chat.runId);
  show();
}

/** The server does not know the turn any more, or is just being restarted. */
function loadAgain() {
  say("The connection is lost. Connecting again …");
  load().then(
    () => say(""),
    () => setTimeout(loadAgain, 1_000),
  );
}

/** @param {string} id */
function watch(id) {
  runId = id;
  present = [];
  source?.close();
  // It connects again by itself, with the id of the last event that it has.
  const events = (source = new EventSource(`/api/runs/${id}/events`));
  events.addEventListener("message", ({ data }) => {
    addEvent(present, /** @type {import("@ravi/sdk").RunEvent} */ (JSON.parse(String(data))));
    show();
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
  events.addEventListener("open", () => say(""));
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) loadAgain();
    else say("The connection is lost. Connecting again …");
  });
  show();
}

function show() {
  element("items").replaceChildren(...[...past, ...present].map(draw));
  stopButton.hidden = runId === null;
  element("send").hidden = runId !== null;
}

/** @param {Item} item */
function draw(item) {
  const li = document.createElement("li");
  li.className = item.kind;
  if (item.kind !== "tool") {
    li.textContent = item.text;
    return li;
  }
  const { name, input, output, question } = item;
  li.textContent = `${name} ${input}${output === undefined ? "" : ` → ${output}`}`;
  if (question !== undefined)
    li.append(" ", button("Approve", question, true), button("Deny", question, false));
  return li;
}

/**
 * @param {string} label
 * @param {string} name
 * @param {boolean} approved
 */
function button(label, name, approved) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", () => {
    void act(() => post(`/api/runs/${runId}/answers`, { name, approved }));
  });
  return made;
}

/**
 * @param {string} path
 * @param {object} body
 */
async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = /** @type {{ error?: string, runId?: string }} */ (await response.json());
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** @param {() => unknown} what */
async function act(what) {
  try {
    await what();
  } catch (error) {
    say(String(error));
  }
}

/** @param {string} line */
function say(line) {
  element("status").textContent = line;
}

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}
