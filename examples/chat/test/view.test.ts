import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { viewOn } from "../src/view.ts";

test("what a model says cannot move the cursor, change the title or hide text", () => {
  let written = "";
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      written += chunk.toString();
      done();
    },
  });
  const view = viewOn(output, false);
  view.show({ type: "text", delta: "a\u001b[2Jb\u001b]0;title\u0007c\rd\te\u009b1m\n" });
  view.show({ type: "toolCall", call: { id: "1", name: "x", arguments: '"\u001b[8m"' } });
  expect(written).toBe('a[2Jb]0;titlecd\te1m\n[x "[8m"]\n');
});
