// All platform globals that this package uses. It is compiled without DOM and Node types.

/** A number in browsers, an object in Node. */
type PlatformTimer = number | { ref?(): void; unref?(): void };

declare function setTimeout(callback: () => void, delayMs: number): PlatformTimer;
declare function clearTimeout(timer: PlatformTimer): void;

declare const console: Record<"error" | "warn", (...said: readonly unknown[]) => void>;
