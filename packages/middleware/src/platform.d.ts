// The platform features that this package uses. It is compiled without DOM and Node types.

declare function setTimeout(callback: () => void, delayMs: number): unknown;
declare function clearTimeout(timer: unknown): void;

declare module "node:crypto" {
  export function randomUUID(): string;
  export function hash(algorithm: "sha256", data: string, encoding: "base64url"): string;
}

declare const Buffer: { byteLength(text: string): number };

declare module "node:fs/promises" {
  export function readdir(path: string): Promise<readonly string[]>;
  export function realpath(path: string): Promise<string>;
  export function readlink(path: string): Promise<string>;
  export function stat(
    path: string,
  ): Promise<{ readonly size: number; readonly mtimeMs: number; isFile(): boolean }>;
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
  export function unlink(path: string): Promise<void>;
  export function truncate(path: string, bytes: number): Promise<void>;
  export function open(
    path: string,
    flags: "a" | "r" | "wx" | number,
    mode?: number,
  ): Promise<{
    appendFile(text: string, encoding: "utf8"): Promise<void>;
    truncate(bytes: number): Promise<void>;
    stat(): Promise<{ readonly size: number }>;
    sync(): Promise<void>;
    close(): Promise<void>;
  }>;
}

declare module "node:fs" {
  export const constants: { readonly O_APPEND: number; readonly O_WRONLY: number };
  export function readFileSync(path: string, encoding: "latin1"): string;
  export function readlinkSync(path: string): string;
  export function createReadStream(
    path: string,
    options: { encoding: "utf8"; start: number; highWaterMark: number },
  ): AsyncIterable<string>;
}

declare module "node:path" {
  export function basename(path: string): string;
  export function dirname(path: string): string;
  export function join(...parts: readonly string[]): string;
}

declare module "node:os" {
  export function hostname(): string;
}

declare module "node:process" {
  const process: { readonly pid: number; readonly platform: string; kill(pid: number, signal: 0): void };
  export default process;
}
