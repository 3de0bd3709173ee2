/** Why a contest ended early. */
export interface Ending {
  /** Aborted by Ctrl-C, by SIGTERM, or when standard output can no longer be written to. No model is called after that. */
  readonly signal: AbortSignal;
  /** Undefined unless something ended the contest early. */
  readonly exitCode: number | undefined;
  readonly isUnheard: boolean;
}

/**
 * Starts watching signals and output. A second Ctrl-C ends the process at once, since the listener is removed after the first.
 */
export function watchForEnding(stream: NodeJS.WriteStream): Ending {
  const stop = new AbortController();
  const ending = { signal: stop.signal, exitCode: undefined as number | undefined, isUnheard: false };
  const end = (exitCode: number, why: string): void => {
    ending.exitCode ??= exitCode;
    stop.abort(why);
  };
  process.once("SIGINT", () => end(130, "interrupted by Ctrl-C"));
  process.once("SIGTERM", () => end(143, "terminated"));
  // The reader is gone (`| head`) or the disk is full. Without this listener Node would end the process with a stack trace.
  stream.on("error", (error) => {
    if (ending.isUnheard) return;
    ending.isUnheard = true;
    process.exitCode = 1;
    console.error(`arena: cannot write to standard output any more (${error.message})`);
    end(1, "standard output is closed");
  });
  return ending;
}
