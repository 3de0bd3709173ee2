/** Whether standard output still takes what is written to it. */
export interface Output {
  /** Called once, when its reader has gone (`| head`) or its disk is full. */
  onLost: (() => void) | undefined;
  readonly isLost: boolean;
}

/** Says so on standard error and by the exit code; without it Node would end the process with a stack trace. */
export function watchOutput(stream: NodeJS.WriteStream): Output {
  const output = { onLost: undefined as Output["onLost"], isLost: false };
  stream.on("error", (error) => {
    if (output.isLost) return;
    output.isLost = true;
    process.exitCode = 1;
    console.error(`demo: standard output cannot be written to any more (${error.message})`);
    output.onLost?.();
  });
  return output;
}
