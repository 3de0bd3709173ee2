import type { MaybePromise } from "@ravi/kernel";

/** What a system prompt is built from. Everything is optional, and missing files are skipped. */
export interface PromptOptions {
  /** The first part of the prompt. Default: SYSTEM.md, else SOUL.md, else a short built-in text. */
  readonly identity?: string | undefined;
  /**
   * Folders with SYSTEM.md, SOUL.md, MEMORY.md, USER.md, `skills/` and `knowledge/`. If several folders have the same file, the
   * last one counts, so list the most general folder first.
   */
  readonly directories?: readonly string[] | undefined;
  /** A folder of documentation; the prompt lists its files for the model to read. */
  readonly docs?: string | undefined;
  /** Added after the identity and the documentation, before the files of `knowledge/`. A function is called for each turn. */
  readonly append?: string | (() => MaybePromise<string>) | undefined;
  /** Hints on how to write for a channel, by its name, in addition to the built-in ones. An empty text removes a hint. */
  readonly platforms?: Readonly<Record<string, string>> | undefined;
  /** Whether to add the date, the working directory, the folders and the session id. Default: true. */
  readonly footer?: boolean | undefined;
}

export const PROMPT_FIELDS = [
  "identity",
  "directories",
  "docs",
  "append",
  "platforms",
  "footer",
] as const satisfies readonly (keyof PromptOptions)[];

export const DEFAULT_IDENTITY = `You are a helpful assistant.
Be concise and concrete. Use the tools you have to find out what you do not know, and say so when you cannot.`;

/** The built-in hints on how to write for each channel. */
export const PLATFORMS: Readonly<Record<string, string>> = Object.freeze({
  terminal: "The answer is shown in a terminal: plain text, short lines, no tables wider than 80 columns.",
  telegram:
    "The answer is shown in Telegram: short paragraphs, **bold** and `code` only, no tables or headings.",
  discord: "The answer is shown in Discord: Markdown without tables, at most 2,000 characters in a message.",
  slack: "The answer is shown in Slack: *bold* with single asterisks, no headings or tables.",
  email: "The answer is sent as an e-mail: whole sentences, a greeting and a closing.",
  sms: "The answer is sent as a text message: one or two plain sentences.",
});
