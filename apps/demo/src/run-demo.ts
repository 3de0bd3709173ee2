import { HookEvent, isRaviError, Priority } from "@ravi/kernel";
import { HookManager } from "@ravi/hooks";
import type { Args } from "./args.ts";
import { type Outcome, startByHand, type Started } from "./compose.ts";
import type { Limit } from "./limit.ts";
import { type Output, watchOutput } from "./output.ts";
import { type Ended, toJSON, toText } from "./report.ts";
import { resumeLine } from "./resume-line.ts";
import { openRunsPage } from "./page.ts";
import { ROLES } from "./roles.ts";
import { type Signals, watchSignals } from "./signals.ts";
import { Board } from "./view/board.ts";
import { liveTree } from "./view/live-tree.ts";
import { plainLine } from "./view/plain-lines.ts";
import { printable } from "./view/printable.ts";
import { startWithSdk } from "./with-sdk.ts";
import { newestRun, openWorkplace } from "./workplace.ts";

const EXIT_CODES: Readonly<Record<Outcome["status"], number>> = {
  completed: 0,
  partial: 2,
  suspended: 3,
  failed: 1,
  cancelled: 1,
};

/** Starts or resumes a run, shows it and prints its result. Returns the exit code. */
export async function runDemo(args: Args): Promise<number> {
  const isWatched = !args.json && (args.live || process.stdout.isTTY);
  const output = watchOutput(process.stdout);
  const signals = watchSignals();
  try {
    return await runIn(args, { isWatched, output, signals });
  } finally {
    signals.forget();
  }
}

interface Watched {
  readonly isWatched: boolean;
  readonly output: Output;
  readonly signals: Signals;
}

async function runIn(args: Args, watched: Watched): Promise<number> {
  const { isWatched, output, signals } = watched;
  const preempted = Promise.withResolvers<void>();
  const isPaced = isWatched || args.page;
  const workplace = await openWorkplace(args, { isPaced, preempted: preempted.promise });
  let isKept = false;
  try {
    if (signals.code !== undefined) return signals.code;
    const { journal, folder, model, prices, limit } = workplace;
    const board = new Board((name) => {
      const role = ROLES.find((candidate) => candidate.name === name);
      const maxToolCalls = role?.executionBudget?.maxToolCalls ?? undefined;
      return { priority: role?.priority ?? Priority.NORMAL, maxToolCalls };
    });
    const hooks = new HookManager();
    hooks.on(HookEvent.PREEMPTED, ({ execId }) => {
      board.paused(execId);
      preempted.resolve();
    });
    hooks.on(HookEvent.RESUMED, ({ execId }) => board.resumed(execId));

    if (!args.json) console.log(introduction(args, limit));
    await using page = args.page ? await openRunsPage(journal) : undefined;
    if (page !== undefined) console.log(`page: ${page.url}\n`);
    const { maxAgents } = args;
    const parts = { model, journal, prices, hooks, limit, maxAgents };
    const started = args.engine === "restate" ? await onRestate() : await here();
    async function here(): Promise<Started> {
      const assignment = args.resume
        ? { resume: await newestRun(journal, folder) }
        : { question: args.question };
      return (args.sdk ? startWithSdk : startByHand)(parts, assignment);
    }
    async function onRestate(): Promise<Started> {
      // Loaded on demand, so that other runs do not pay for importing the Restate SDK.
      const { startOnRestate } = await import("./restate/start.ts");
      const assignment = args.resume ? { resume: "the newest" } : { question: args.question };
      return startOnRestate({ ...parts, folder, modelArgs: workplace.modelArgs }, assignment);
    }
    const result = await follow(started, board, { ...watched, args, limit });
    const { status } = result;
    isKept = status === "suspended";

    const ended: Ended = { result, counts: board.counts, bill: workplace.bill() };
    if (args.json) console.log(JSON.stringify(toJSON(ended)));
    else if (!output.isLost) console.log(printable(`\n${toText(ended)}`));
    if (status === "suspended")
      console.error(`demo: the run is suspended. To continue it: ${resumeLine(args, folder)}`);
    else if (result.error !== undefined) console.error(printable(`demo: ${result.error.message}`));
    if (page !== undefined && signals.code === undefined) {
      console.log("The page stays open until Ctrl-C.");
      await page.untilSignal(signals);
      return EXIT_CODES[status];
    }
    return signals.code ?? EXIT_CODES[status];
  } catch (error) {
    // The folder is kept, since the journal in it holds the calls that were already paid for.
    isKept ||= isRaviError(error, "JOURNAL_FAILED");
    if (isKept) console.error(`demo: to continue the run later: ${resumeLine(args, workplace.folder)}`);
    throw error;
  } finally {
    await workplace.close({ keep: isKept });
  }
}

interface FollowOptions extends Watched {
  readonly args: Args;
  readonly limit: Limit;
}

/** Shows a run while it works. The first Ctrl-C suspends it, the second ends the process. Lost output suspends it too. */
async function follow(
  { events, result, suspend }: Started,
  board: Board,
  { args, limit, isWatched, output, signals }: FollowOptions,
): Promise<Outcome> {
  signals.onFirst = () => void suspend();
  if (signals.code !== undefined) signals.onFirst();
  output.onLost = () => void suspend();
  if (output.isLost) output.onLost();
  try {
    using _ = isWatched
      ? liveTree(board, {
          screen: process.stdout,
          size: screenSize,
          color: isColored(),
          limit,
          now: Date.now,
        })
      : undefined;
    for await (const event of events()) {
      board.take(event);
      const line = args.json || isWatched ? undefined : plainLine(event);
      if (line !== undefined && !output.isLost) console.log(line);
    }
    return await result;
  } finally {
    signals.onFirst = undefined;
    output.onLost = undefined;
    await suspend();
  }
}

function introduction({ question, resume, model }: Args, limit: Limit): string {
  const what = resume ? "continuing the newest run" : `question: ${question}`;
  const who =
    model === undefined
      ? "(a server on this machine stands in for the model and follows a script; tools, rules, journal and bill are real)"
      : "usd" in limit
        ? `(the model is ${model}; its calls cost real money)`
        : `(the model is ${model}; its price is not known, so tokens are limited instead of dollars: ${limit.tokens} at most)`;
  return `${what}\n${who}\n`;
}

/** If the terminal reports no size, or 0, assume 100 columns and any number of rows. */
function screenSize(): { readonly columns: number; readonly rows: number } {
  const { columns, rows } = process.stdout;
  return { columns: columns || Number(process.env["COLUMNS"]) || 100, rows: rows || Infinity };
}

/** NO_COLOR counts only if it is set and not empty (no-color.org). */
function isColored(): boolean {
  return (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb";
}
