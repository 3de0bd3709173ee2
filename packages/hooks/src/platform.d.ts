// All platform globals that this package uses. It is compiled without DOM and Node types.

declare function setTimeout(callback: () => void, delayMs: number): unknown;
declare function clearTimeout(timer: unknown): void;

declare const console: Record<"error" | "warn", (...said: readonly unknown[]) => void>;
