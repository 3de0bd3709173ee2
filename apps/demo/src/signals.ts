/** Exit codes as shells report them: 128 plus the number of the signal. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Signals that asked this process to end. Watched before the run's folder is created: a signal without a listener would leave the
 * folder behind.
 */
export interface Signals {
  /** The exit code for the first signal; undefined if none came. */
  readonly code: number | undefined;
  onFirst: (() => void) | undefined;
  /** Stops watching. */
  forget(): void;
}

/** Starts watching: the first signal calls `onFirst`, the second ends the process. */
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
