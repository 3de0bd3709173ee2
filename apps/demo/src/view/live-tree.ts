import type { Limit } from "../limit.ts";
import type { Board } from "./board.ts";
import { drawTree } from "./draw-tree.ts";

export interface LiveTreeOptions {
  readonly screen: { write(text: string): unknown };
  /** Called for each frame, since a window can be resized. Lines beyond `rows` are left out until the last frame. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly color: boolean;
  readonly limit: Limit;
  readonly now: () => number;
}

const FRAME_MS = 100;
const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/** Redraws the board in place ten times a second until it is disposed. The last frame stays on the screen. */
export function liveTree(board: Board, options: LiveTreeOptions): Disposable {
  const { screen, size, limit, color, now } = options;
  let drawn = 0;
  const draw = (isLast: boolean): void => {
    const { columns, rows } = size();
    const all = drawTree(board, { now: now(), width: columns, limit, color });
    // The cursor cannot move back to lines that have scrolled off the screen, so a frame must fit on it.
    const lines = isLast ? all : all.slice(0, Math.max(1, rows - 1));
    const back = drawn === 0 ? "" : `\u001B[${drawn}F`;
    screen.write(`${back}\u001B[0J${lines.join("\n")}\n`);
    drawn = lines.length;
  };
  // If the process exits early, the terminal must get its cursor back.
  const showCursor = (): void => void screen.write(SHOW_CURSOR);
  process.once("exit", showCursor);
  screen.write(HIDE_CURSOR);
  draw(false);
  const timer = setInterval(() => draw(false), FRAME_MS);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      draw(true);
      process.off("exit", showCursor);
      showCursor();
    },
  };
}
