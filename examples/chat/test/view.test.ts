import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { viewOn } from "../src/view.ts";

test("what a model says cannot move the cursor, change the title or hide text", () => {
  const { view, written } = watched();
  view.show({ type: "text", delta: "a\u001b[2Jb\u001b]0;title\u0007c\rd\te\u009b1m\n" });
  view.show({ type: "toolCall", call: { id: "1", name: "x", arguments: '"\u001b[8m"' } });
  expect(written()).toBe('a[2Jb]0;titlecd\te1m\n[x "[8m"]\n');
});

test("an answer that was steered: what comes after it begins a line of its own", () => {
  const { view, written } = watched();
  view.show({ type: "text", delta: "1 2 3" });
  view.show({ type: "message_end", message: { role: "assistant", content: "1 2 3" }, entryId: "e1" });
  view.show({ type: "text", delta: "I stop." });
  view.show({ type: "agent_end", status: "completed", output: "I stop." });
  expect(written()).toBe("1 2 3\nI stop.\n");
});

function watched() {
  let text = "";
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString();
      done();
    },
  });
  return { view: viewOn(output, false), written: () => text };
}
