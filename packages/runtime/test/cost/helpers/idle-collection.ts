import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../../src/journal/memory-journal.ts";
import { everything } from "../everything.ts";
import { worker } from "../worker.ts";

// Run by compiled.test.ts, with --expose-gc and --trace-deopt: makes many runs, then collects garbage while there is none.

class Control {
  readonly x: number;
  readonly y: number;

  constructor(n: number) {
    this.x = n;
    this.y = n + 1;
  }
}

const last: { control?: Control | undefined } = {};

/** Its code must be discarded: nothing keeps an object of that class. */
function readControl(control: Control): number {
  last.control = control;
  return control.x + control.y;
}

function readControls(): number {
  let read = 0;
  for (let n = 0; n < 1_000; n++) read += readControl(new Control(n & 7));
  return read;
}

const runtime = new Runtime(
  process.argv[2] === "bare" ? {} : everything(new MemoryJournal({ keepEnded: 0 })),
);
const agent = worker(20);
let sum = 0;
for (let run = 0; run < 400; run++) {
  await runtime.run(agent, "go").result;
  sum += readControls();
}
if (globalThis.gc === undefined || sum === 0) throw new Error("start it with --expose-gc");
console.log("COLLECT");
last.control = undefined;
// V8 waits for a few collections before it forgets a hidden class that compiled code knows.
for (let n = 0; n < 5; n++) globalThis.gc();
console.log("COLLECTED");
