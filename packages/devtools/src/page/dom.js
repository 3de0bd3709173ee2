// Everything on the page is made here, and every text is set as a text: nothing that a model writes can become an element.

/**
 * @typedef {Node | string | null | undefined} Child
 * @typedef {{ class?: string, title?: string, id?: string, type?: string, label?: string, onclick?: () => void }} Attributes
 */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {readonly Child[]} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  const { label, onclick, ...rest } = attributes;
  for (const [name, value] of Object.entries(rest)) element.setAttribute(name, value);
  if (label !== undefined) element.setAttribute("aria-label", label);
  if (onclick !== undefined) element.addEventListener("click", onclick);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** @param {string} id */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`there is no #${id}`);
  return element;
}

/**
 * Fills an element anew, but only if what it shows has changed: so neither the focus, a selection nor what is being typed is lost.
 *
 * @param {HTMLElement} element
 * @param {unknown} shown
 * @param {() => readonly Child[]} draw
 */
export function fill(element, shown, draw) {
  const text = JSON.stringify(shown);
  if (filled.get(element) === text) return;
  filled.set(element, text);
  element.replaceChildren(...draw().filter((child) => child !== null && child !== undefined));
}

/** @type {WeakMap<HTMLElement, string>} */
const filled = new WeakMap();

/**
 * A bar that is filled to this part.
 *
 * @param {number} part
 * @param {string} [kind]
 */
export function bar(part, kind = "") {
  const inner = make("span");
  inner.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  return make("span", { class: `bar ${kind}` }, [inner]);
}
