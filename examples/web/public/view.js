// What the page shows, computed from what the server sends. No DOM here, so that it can be tested.

/**
 * @typedef {{ kind: "user" | "assistant" | "error", text: string }} Said
 * @typedef {{ kind: "tool", callId: string, name: string, input: string, output?: string, question?: string }} Called
 * @typedef {Said | Called} Item
 *
 * @typedef {import("@ravi/sdk").ChatMessage} ChatMessage
 * @typedef {import("@ravi/sdk").RunEvent} RunEvent
 * @typedef {import("@ravi/sdk").ToolCall} ToolCall
 */

/**
 * The items of a conversation that is on record.
 *
 * @param {readonly ChatMessage[]} messages
 * @returns {Item[]}
 */
export function itemsOf(messages) {
  /** @type {Item[]} */
  const items = [];
  for (const message of messages) {
    const { role } = message;
    const text = textOf(message.content);
    if (role === "tool") answerCall(items, message.toolCallId, text);
    else if (text !== "") items.push({ kind: role === "user" ? "user" : "assistant", text });
    for (const call of (role === "assistant" && message.toolCalls) || []) items.push(callOf(call));
  }
  return items;
}

/**
 * The items of a turn that is over.
 *
 * @param {readonly RunEvent[]} events
 * @returns {Item[]}
 */
export function itemsOfTurn(events) {
  /** @type {Item[]} */
  const items = [];
  for (const event of events) addEvent(items, event);
  return items;
}

/**
 * Adds an event of the turn that runs to its items.
 *
 * @param {Item[]} items
 * @param {RunEvent} runEvent
 */
export function addEvent(items, { event }) {
  const last = items.at(-1);
  switch (event.type) {
    case "started":
      // Helpers are started too: their input is no message of the user.
      if (items.length === 0) items.push({ kind: "user", text: event.input });
      break;
    case "text":
      if (last?.kind === "assistant") last.text += event.delta;
      else items.push({ kind: "assistant", text: event.delta });
      break;
    case "toolCall":
      items.push(callOf(event.call));
      break;
    case "toolResult":
      answerCall(items, event.callId, textOf(event.content));
      break;
    case "progress":
      if (event.name === "approvalRequested") ask(items, event);
      // The answer broke off and is told again.
      if (event.name === "answerRestarted" && last?.kind === "assistant") items.pop();
      break;
    case "completed":
      // An answer that was not streamed.
      if (last?.kind !== "assistant" && event.result.output !== "")
        items.push({ kind: "assistant", text: event.result.output });
      if (event.result.status === "partial")
        items.push({ kind: "error", text: `stopped early: ${event.result.stopReason}` });
      break;
    case "error":
      items.push({ kind: "error", text: event.error.message });
      break;
    default:
  }
}

/**
 * What was called and, when it is known, what came of it.
 *
 * @param {Called} call
 */
export function lineOf({ name, input, output }) {
  return `${name} ${input}${output === undefined ? "" : ` → ${output}`}`;
}

/**
 * @param {Item[]} items
 * @param {{ callId?: string | undefined, data: unknown }} event
 */
function ask(items, { callId = "", data }) {
  const call = findCall(items, callId);
  if (call !== undefined) call.question = /** @type {{ name: string }} */ (data).name;
}

/**
 * @param {ToolCall} call
 * @returns {Called}
 */
function callOf({ id, name, arguments: input }) {
  return { kind: "tool", callId: id, name, input };
}

/**
 * @param {Item[]} items
 * @param {string} callId
 * @param {string} output
 */
function answerCall(items, callId, output) {
  const call = findCall(items, callId);
  if (call === undefined) return;
  call.output = output;
  delete call.question;
}

/**
 * The last call with that id that has no result: some servers use ids again.
 *
 * @param {Item[]} items
 * @param {string} callId
 * @returns {Called | undefined}
 */
function findCall(items, callId) {
  for (const item of items.toReversed())
    if (item.kind === "tool" && item.callId === callId && item.output === undefined) return item;
  return undefined;
}

/**
 * @param {ChatMessage["content"]} content
 * @returns {string}
 */
function textOf(content) {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
