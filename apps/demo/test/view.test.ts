import { AgentId, ExecId, Priority, RunId } from "@ravi/kernel";
import { expect, test } from "vitest";
import { Board } from "../src/view/board.ts";
import { drawTree } from "../src/view/draw-tree.ts";
import { liveTree } from "../src/view/live-tree.ts";
import { demo } from "./run.ts";

const limit = { usd: 0.1 };

test("a narrow terminal without colours: no line is wider than it, and NO_COLOR is heeded", async () => {
  const { code, stdout } = await demo(["--live"], { env: { COLUMNS: "40", NO_COLOR: "1" } });
  expect(code).toBe(0);
  const frames = stdout.slice(stdout.indexOf("\u001B[?25l"), stdout.lastIndexOf("\u001B[?25h"));
  // Back, and away with what is below: nothing else is sent.
  const lines = frames.replaceAll(/\p{Cc}\[(?:\?25l|\d+F|0J)/gu, "").split("\n");
  expect(lines.join("\n")).not.toContain("\u001B");
  expect(lines.filter((line) => line.length > 40)).toEqual([]);
  expect(lines.some((line) => line.includes("researcher/1"))).toBe(true);
});

test("what is told of an agent is one line, whatever a server answered", () => {
  const board = boardOf(1);
  const row = board.inOrder[0];
  if (row !== undefined) row.doing = "502 Bad Gateway\n<html>\u001B[2J\r\n</html>";
  const drawn = drawTree(board, { now: 0, width: 200, limit, color: false }).join("|");
  expect(drawn).toContain("502 Bad Gateway <html> [2J </html>");
});

test("a frame fits on the screen, which the cursor cannot leave; the last one is whole", () => {
  const board = boardOf(30);
  const written: string[] = [];
  const screen = { write: (text: string) => written.push(text) };
  const size = () => ({ columns: 80, rows: 10 });
  const live = liveTree(board, { screen, size, color: false, limit, now: () => 0 });
  const lines = (text: string | undefined): number => text?.split("\n").length ?? 0;
  expect(lines(written.at(-1))).toBe(10);
  live[Symbol.dispose]();
  expect(lines(written.at(-2))).toBe(32);
});

function boardOf(agents: number): Board {
  const board = new Board(() => ({ priority: Priority.NORMAL }));
  for (let at = 0; at < agents; at++) {
    const agentId = at === 0 ? AgentId("lead") : AgentId("helper", at);
    const execId = ExecId(RunId("r"), String(at));
    board.take({ seq: at, at: 0, agentId, execId, event: { type: "text", delta: "" } });
  }
  return board;
}
