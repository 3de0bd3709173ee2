// Makes docs/demo.svg, the picture in the README: runs the demo as it is and keeps the frames that it drew.
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const ESC = "\u001B";
const COLUMNS = 118;
const FONT = 13;
const LINE = 18;
const CHAR = 7.8;
const MARGIN = 16;
const MOST_FRAMES = 24;
const FRAME_S = 0.35;
const LAST_S = 4;

const COLORS: Readonly<Record<string, string>> = {
  "31": "#ff6b6b",
  "32": "#7bd88f",
  "33": "#ffd166",
  "36": "#5ccfe6",
  "90": "#7f8ba3",
};

const demo = join(import.meta.dirname, "../src/main.ts");
const target = join(import.meta.dirname, "../../../docs/demo.svg");

const child = spawn(process.execPath, ["--conditions=@ravi/source", "--no-warnings", demo, "--live"], {
  env: { ...process.env, COLUMNS: String(COLUMNS) },
  stdio: ["ignore", "pipe", "inherit"],
});
const printed = await text(child.stdout);
// Each frame goes back over the one before it and clears the rest of the screen.
const [, ...drawn] = printed.split(new RegExp(`(?:${ESC}\\[\\d+F)?${ESC}\\[0J`));
const frames = drawn.map(
  (frame) =>
    frame
      .split(new RegExp(`\\n\\n|${ESC}\\[\\?25h`))[0]
      ?.trimEnd()
      .split("\n") ?? [],
);
const changed = frames.filter((frame, at) => at === 0 || frame.join() !== frames[at - 1]?.join());
const step = Math.max(1, Math.ceil(changed.length / MOST_FRAMES));
const shown = changed.filter((_, at) => at % step === 0 || at === changed.length - 1);
await writeFile(target, toSvg(shown));
console.log(`${target}: ${shown.length} frames of ${frames.length}`);

function toSvg(all: readonly (readonly string[])[]): string {
  const height = Math.max(...all.map((frame) => frame.length)) * LINE + 2 * MARGIN;
  const width = Math.round(COLUMNS * CHAR) + 2 * MARGIN;
  const total = all.length * FRAME_S + LAST_S;
  const style = all.map((_, at) => {
    const from = ((at * FRAME_S) / total) * 100;
    const to = at === all.length - 1 ? 100 : (((at + 1) * FRAME_S) / total) * 100;
    const shows = at === 0 ? "" : `0%,${(from - 0.001).toFixed(3)}%{opacity:0}`;
    const hides = at === all.length - 1 ? "" : `${(to + 0.001).toFixed(3)}%,100%{opacity:0}`;
    return `@keyframes f${at}{${shows}${from.toFixed(3)}%,${to.toFixed(3)}%{opacity:1}${hides}}#f${at}{animation:f${at} ${total.toFixed(2)}s infinite step-end}`;
  });
  // Where nothing moves, the last frame is the picture.
  const still = `@media (prefers-reduced-motion){g{animation:none!important;opacity:0}#f${all.length - 1}{opacity:1}}`;
  const groups = all.map((frame, at) => {
    const lines = frame.map(
      (line, row) =>
        `<text xml:space="preserve" x="${MARGIN}" y="${MARGIN + (row + 1) * LINE - 5}">${toSpans(line)}</text>`,
    );
    return `<g id="f${at}" opacity="${at === all.length - 1 ? 1 : 0}">${lines.join("")}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The demo's live tree: who works, at what priority, what each has spent">`,
    `<style>text{font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d6deeb}${style.join("")}${still}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="#0b1220"/>`,
    ...groups,
    "</svg>\n",
  ].join("\n");
}

function toSpans(line: string): string {
  const spans: string[] = [];
  let fill: string | undefined;
  for (const part of line.split(new RegExp(`(${ESC}\\[[\\d;?]*[A-Za-z])`))) {
    const code = new RegExp(`^${ESC}\\[(\\d+)m$`).exec(part)?.[1];
    if (code !== undefined) fill = COLORS[code];
    else if (part !== "" && !part.startsWith(ESC))
      spans.push(fill === undefined ? escape(part) : `<tspan fill="${fill}">${escape(part)}</tspan>`);
  }
  return spans.join("");
}

function escape(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
