/** What ends a contest before its time. */
export interface Ending {
  /** Aborted by Ctrl-C, by SIGTERM, and when standard output takes nothing more: then nobody is asked any more. */
  readonly signal: AbortSignal;
  /** Undefined as long as nothing has ended it. */
  readonly exitCode: number | undefined;
  readonly isUnheard: boolean;
}

/** A second Ctrl-C ends the process at once, as it does without anybody who listens. */
export function watchForEnding(stream: NodeJS.WriteStream): Ending {
  const stop = new AbortController();
  const ending = { signal: stop.signal, exitCode: undefined as number | undefined, isUnheard: false };
  const end = (exitCode: number, why: string): void => {
    ending.exitCode ??= exitCode;
    stop.abort(why);
  };
  process.once("SIGINT", () => end(130, "interrupted by Ctrl-C"));
  process.once("SIGTERM", () => end(143, "terminated"));
  // Its reader has gone (`| head`), or its disk is full; without this Node would end the process with a stack trace.
  stream.on("error", (error) => {
    if (ending.isUnheard) return;
    ending.isUnheard = true;
    process.exitCode = 1;
    console.error(`arena: standard output cannot be written to any more (${error.message})`);
    end(1, "nobody reads what comes of it");
  });
  return ending;
}
