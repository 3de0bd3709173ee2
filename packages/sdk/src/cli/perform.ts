import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { answer, approve, cancelRun, deny } from "./answer.ts";
import { type CommandLine, type CommandName, HELP, readCommandLine } from "./command-line.ts";
import { backup, checkJournal, deleteRun, pruneRuns } from "./keep.ts";
import { listRuns } from "./list.ts";
import { logRun } from "./log.ts";
import { showPage } from "./page.ts";
import { printable } from "./printable.ts";
import { showRun } from "./show.ts";

/** What every command gets. */
export interface Request extends CommandLine {
  /** The folder of the journal. */
  readonly journal: string;
  readonly now: number;
  /** Prints what there is so far. */
  readonly print: (text: string) => void;
}

const COMMANDS: { readonly [name in CommandName]: (request: Request) => Promise<string> } = {
  runs: listRuns,
  show: showRun,
  log: logRun,
  page: showPage,
  approve,
  deny,
  deliver: answer,
  cancel: cancelRun,
  delete: deleteRun,
  prune: pruneRuns,
  backup,
};

/** Does what the command line says. Returns what is to be printed at the end. */
export async function perform(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  print: (text: string) => void,
): Promise<string> {
  const line = readCommandLine(args);
  const { name, options } = line;
  if (options.version === true) return version();
  if (name === undefined) return HELP;
  const journal = options.journal ?? (env["RAVI_JOURNAL"] || ".ravi");
  checkJournal(journal);
  const request = {
    ...line,
    journal,
    now: Date.now(),
    print: (text: string): void => print(printable(text)),
  };
  return printable(await COMMANDS[name](request));
}

function version(): string {
  const file = fileURLToPath(import.meta.resolve("@ravi/sdk/package.json"));
  const manifest = JSON.parse(readFileSync(file, "utf8")) as { readonly version: string };
  return manifest.version;
}
