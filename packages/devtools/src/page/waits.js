import { make } from "./dom.js";
import { amountIn, answerIn, isBudget, isNext, kindOf, questionOf } from "./view.js";

/**
 * @typedef {import("@ravi/kernel").PendingWait} PendingWait
 * @typedef {(wait: PendingWait, value: unknown) => void} Answer
 */

/**
 * What a run waits for. What goes on waiting stays where it is on the page, with the focus and what is being typed for it.
 *
 * @param {HTMLElement} element
 * @param {Answer | undefined} answer Undefined on a page that only looks.
 */
export function waitsOf(element, answer) {
  /** @type {Map<string, HTMLElement>} */
  let known = new Map();
  return {
    /** @param {readonly PendingWait[]} waits */
    draw(waits) {
      const before = known;
      known = new Map();
      for (const wait of waits) {
        const isNow = isNext(wait, waits);
        // An agent may wait twice for the same at once.
        const key = JSON.stringify([wait, isNow, isNow ? 0 : known.size]);
        known.set(key, before.get(key) ?? drawWait(wait, isNow ? answer : undefined));
      }
      const sections = [...known.values()];
      for (const section of before.values()) if (!sections.includes(section)) section.remove();
      // What is moved loses the focus, so only what is new is put in.
      for (const [at, section] of sections.entries()) {
        const there = element.children[at] ?? null;
        if (there !== section) element.insertBefore(section, there);
      }
    },
  };
}

/**
 * One of them, with the buttons to answer it.
 *
 * @param {PendingWait} wait
 * @param {Answer | undefined} answer Undefined on a page that only looks.
 */
function drawWait(wait, answer) {
  const { agentId, since, until, name } = wait;
  const end = until === undefined ? "" : `, until ${new Date(until).toLocaleString()}`;
  const question = questionOf(wait);
  return make("section", { class: "wait", label: `${agentId} waits for ${kindOf(wait)}` }, [
    make("p", {}, [
      make("strong", {}, [agentId]),
      ` waits for ${kindOf(wait)} since ${new Date(since).toLocaleString()}${end}`,
    ]),
    question === "" ? make("p", { class: "quiet" }, [name]) : make("pre", {}, [question]),
    ...(answer === undefined ? [] : buttonsOf(wait, answer)),
  ]);
}

/**
 * @param {PendingWait} wait
 * @param {Answer} answer
 */
function buttonsOf(wait, answer) {
  const { kind, name } = wait;
  if (kind === "timer") return [];
  if (kind === "decision")
    return [
      make("p", { class: "quiet" }, [
        `Resume the run with decisions: { ${JSON.stringify(name)}: "retry" }, or "skip" or "fail".`,
      ]),
    ];
  if (isBudget(wait)) {
    const amount = field('Dollars to add, or {"tokens": 1000}');
    const grant = () => {
      const given = amountIn(amount.value);
      amount.setCustomValidity(
        given === undefined ? 'Expected dollars, or JSON such as {"tokens": 1000}' : "",
      );
      if (given === undefined) amount.reportValidity();
      else answer(wait, given);
    };
    return [
      row(
        amount,
        button("Grant", grant),
        button("Deny", () => answer(wait, false)),
      ),
    ];
  }
  if (kind === "signal") {
    const text = field("Answer (JSON, or a text)");
    return [
      row(
        text,
        button("Send", () => answer(wait, answerIn(text.value))),
      ),
    ];
  }
  const why = field("Reason (only if you deny)");
  const deny = () => answer(wait, { approved: false, ...(why.value !== "" && { reason: why.value }) });
  return [
    row(
      button("Approve", () => answer(wait, true)),
      why,
      button("Deny", deny),
    ),
  ];
}

/** @param {string} label */
function field(label) {
  const input = make("input", { label, type: "text" });
  input.placeholder = label;
  return input;
}

/**
 * @param {string} name
 * @param {() => void} onclick
 */
function button(name, onclick) {
  return make("button", { type: "button", class: name.toLowerCase(), onclick }, [name]);
}

/** @param {readonly HTMLElement[]} children */
function row(...children) {
  return make("p", { class: "row" }, children);
}
