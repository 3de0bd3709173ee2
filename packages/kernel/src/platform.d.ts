// Everything of the platform that the kernel may touch. It is compiled without DOM and Node types, so a `fetch`, a
// `setTimeout`, a `process` or an import of `node:fs` does not compile here.

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
declare const AbortSignal: { prototype: AbortSignal };

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare const crypto: { randomUUID(): string; getRandomValues(bytes: Uint8Array): Uint8Array };

declare class TextDecoder {
  decode(bytes?: Uint8Array, options?: { readonly stream?: boolean }): string;
}
