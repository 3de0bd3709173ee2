import { lineOf } from "./view.js";

/**
 * @typedef {import("./view.js").Item} Item
 * @typedef {import("./view.js").Called} Called
 * @typedef {(call: Called, approved: boolean) => void} Answer
 * @typedef {{ li: HTMLLIElement, update: () => void }} Drawing
 */

/**
 * Shows items in a list. Only what has changed is touched: so a long answer stays fast, and neither the focus nor a selection is lost.
 *
 * @param {Element} list
 * @param {Answer} answer
 * @returns {(items: readonly Item[]) => void}
 */
export function listOf(list, answer) {
  /** @type {WeakMap<Item, Drawing>} */
  const drawings = new WeakMap();
  return (items) => {
    for (const [at, item] of items.entries()) {
      const drawing = drawings.get(item) ?? draw(item, answer);
      drawings.set(item, drawing);
      const here = list.children[at] ?? null;
      if (here !== drawing.li) list.insertBefore(drawing.li, here);
      drawing.update();
    }
    while (list.children.length > items.length) list.lastElementChild?.remove();
  };
}

/**
 * @param {Item} item
 * @param {Answer} answer
 * @returns {Drawing}
 */
function draw(item, answer) {
  const li = document.createElement("li");
  const line = document.createTextNode("");
  li.className = item.kind;
  li.append(line);
  if (item.kind !== "tool") return { li, update: () => write(line, item.text) };
  const buttons = document.createElement("span");
  for (const approved of [true, false]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = approved ? "Approve" : "Deny";
    // There may be several questions.
    button.ariaLabel = `${button.textContent} ${lineOf(item)}`;
    button.addEventListener("click", () => {
      // The button goes; the focus stays here.
      li.tabIndex = -1;
      li.focus();
      answer(item, approved);
    });
    buttons.append(button);
  }
  const update = () => {
    write(line, lineOf(item));
    if (item.question === undefined) buttons.remove();
    else if (buttons.parentNode === null) li.append(buttons);
  };
  return { li, update };
}

/**
 * @param {Text} line
 * @param {string} now
 */
function write(line, now) {
  if (now.startsWith(line.data)) line.appendData(now.slice(line.length));
  else line.data = now;
}
