import { expect, onTestFinished, test, vi } from "vitest";
import { PAYLOADS } from "./payloads.ts";

/** What the page may do to an element; anything else, such as `innerHTML`, is a mistake. */
class Node {
  readonly tag: string;
  textContent = "";
  className = "";
  type = "";
  value = "";
  hidden = false;
  ariaBusy = "";
  ariaLabel = "";
  parentNode = null;
  children: Node[] = [];
  /** Of a text node. */
  data = "";

  constructor(tag: string) {
    this.tag = tag;
    Object.seal(this);
  }
  get length(): number {
    return this.data.length;
  }
  appendData(more: string): void {
    this.data += more;
  }
  append(...more: Node[]): void {
    this.children.push(...more);
  }
  insertBefore(node: Node, next: Node | null): void {
    this.children.splice(next === null ? this.children.length : this.children.indexOf(next), 0, node);
  }
  remove(): void {}
  addEventListener(): void {}
}

test("T14: what models, tools and errors say stays text in the page", async () => {
  const parts = new Map<string, Node>();
  const made: Node[] = [];
  const sources: EventTarget[] = [];
  const globals = {
    location: { hash: "#tea" },
    history: { replaceState: () => {} },
    addEventListener: () => {},
    requestAnimationFrame: (show: () => void) => show(),
    cancelAnimationFrame: () => {},
    BroadcastChannel: EventTarget,
    document: {
      documentElement: new Node("html"),
      addEventListener: () => {},
      getElementById: (id: string) => parts.get(id) ?? parts.set(id, new Node(id)).get(id),
      createTextNode: () => new Node("#text"),
      createElement: (tag: string) => {
        const node = new Node(tag);
        made.push(node);
        return node;
      },
    },
    fetch: async () => Response.json({ messages: [], runId: "tea:0" }),
    EventSource: class extends EventTarget {
      constructor() {
        super();
        sources.push(this);
      }
    },
  };
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  onTestFinished(() => void vi.unstubAllGlobals());
  await import("../public/page.js");
  await vi.waitUntil(() => sources.length === 1);

  const tell = (event: object): void => {
    const data = JSON.stringify({ event });
    sources[0]?.dispatchEvent(new MessageEvent("message", { data }));
  };
  for (const text of PAYLOADS) {
    tell({ type: "text", delta: text });
    tell({ type: "toolCall", call: { id: text, name: text, arguments: text } });
    tell({ type: "progress", name: "approvalRequested", callId: text, data: { name: text } });
    tell({ type: "toolCall", call: { id: "c", name: text, arguments: text } });
    tell({ type: "toolResult", callId: "c", content: text });
    tell({ type: "error", error: { message: text } });
  }
  const shown = parts.get("items")?.children ?? [];
  expect(shown.map(({ children }) => children[0]?.data)).toEqual(
    PAYLOADS.flatMap((text) => [text, `${text} ${text}`, `${text} ${text} → ${text}`, text]),
  );
  expect(new Set(made.map(({ tag }) => tag))).toEqual(new Set(["li", "span", "button"]));
  expect(new Set(made.map(({ textContent }) => textContent))).toEqual(new Set(["", "Approve", "Deny"]));
  expect(new Set(made.map(({ className }) => className))).toEqual(
    new Set(["assistant", "tool", "error", ""]),
  );
});
