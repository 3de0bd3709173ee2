import { expect, onTestFinished, test, vi } from "vitest";

/** What has been thought of to make a script out of a text. */
const PAYLOADS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  '"><script>alert(1)</script>',
  "';alert(1);//",
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<a href="javascript:alert(1)">x</a>',
  "<body onload=alert(1)>",
  "<details open ontoggle=alert(1)>",
  "<math><mtext><script>alert(1)</script>",
  "<input autofocus onfocus=alert(1)>",
  "<object data='javascript:alert(1)'>",
  "<embed src='javascript:alert(1)'>",
  "<link rel=stylesheet href='javascript:alert(1)'>",
  "<style>@import 'javascript:alert(1)'</style>",
  "<base href='http://evil.example/'>",
  "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
  "<form action=javascript:alert(1)><button id=send>",
  "<template><script>alert(1)</script></template>",
  "<video><source onerror=alert(1)>",
  "<marquee onstart=alert(1)>",
  "</li></ol><script>alert(1)</script>",
  "<x id=items>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "\u2028<script>alert(1)</script>",
  "\u0000<script>alert(1)</script>",
  "<!--><script>alert(1)</script>-->",
  "<![CDATA[<script>alert(1)</script>]]>",
  "${alert(1)}",
  "{{constructor.constructor('alert(1)')()}}",
  "[x](javascript:alert(1))",
  "__proto__",
];

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
