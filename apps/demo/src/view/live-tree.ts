import type { Limit } from "../limit.ts";
import type { Board } from "./board.ts";
import { drawTree } from "./draw-tree.ts";

export interface LiveTreeOptions {
  readonly screen: { write(text: string): unknown };
  readonly columns: number;
  readonly limit: Limit;
  readonly now: () => number;
}

const FRAME_MS = 100;
const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/** Draws the board over itself, ten times a second, until it is stopped; the last frame stays. */
export function liveTree(board: Board, { screen, columns, limit, now }: LiveTreeOptions): Disposable {
  let drawn = 0;
  const draw = (): void => {
    const lines = drawTree(board, { now: now(), width: columns, limit, color: true });
    const back = drawn === 0 ? "" : `\u001B[${drawn}F`;
    screen.write(`${back}\u001B[0J${lines.join("\n")}\n`);
    drawn = lines.length;
  };
  // A process that is ended at once must not leave a terminal without its cursor.
  const showCursor = (): void => void screen.write(SHOW_CURSOR);
  process.once("exit", showCursor);
  screen.write(HIDE_CURSOR);
  draw();
  const timer = setInterval(draw, FRAME_MS);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      draw();
      process.off("exit", showCursor);
      showCursor();
    },
  };
}
