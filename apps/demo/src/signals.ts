/** As a shell says it: 128 and the number of the signal. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** What told this process to end, from before its folder is made: a signal without a listener would leave the folder behind. */
export interface Signals {
  /** The exit code for the first that came. */
  readonly code: number | undefined;
  onFirst: (() => void) | undefined;
  forget(): void;
}

/** The first is for whoever listens; the second ends the process. */
export function watchSignals(): Signals {
  let code: number | undefined;
  const listeners = Object.entries(CODES).map(([signal, own]) => {
    const listener = (): void => {
      if (code !== undefined) process.exit(code);
      code = own;
      signals.onFirst?.();
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  const signals: Signals = {
    get code() {
      return code;
    },
    onFirst: undefined,
    forget() {
      for (const forget of listeners) forget();
    },
  };
  return signals;
}
