/** Tells whether standard output can still be written to. */
export interface Output {
  /** Called once when output is lost: its reader is gone (`| head`) or the disk is full. */
  onLost: (() => void) | undefined;
  readonly isLost: boolean;
}

/**
 * Reports lost output on standard error and sets exit code 1. Without this listener Node would end the process with a stack
 * trace.
 */
export function watchOutput(stream: NodeJS.WriteStream): Output {
  const output = { onLost: undefined as Output["onLost"], isLost: false };
  stream.on("error", (error) => {
    if (output.isLost) return;
    output.isLost = true;
    process.exitCode = 1;
    console.error(`demo: cannot write to standard output any more (${error.message})`);
    output.onLost?.();
  });
  return output;
}
