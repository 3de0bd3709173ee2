import type { MaybePromise } from "@ravi/kernel";

/** What a system prompt is made of. Everything is optional; missing files are left out. */
export interface PromptOptions {
  /** In place of SYSTEM.md, SOUL.md and the default. */
  readonly identity?: string | undefined;
  /**
   * Folders with SYSTEM.md, SOUL.md, MEMORY.md, USER.md, `skills/` and `knowledge/`. Of a file that several have, the last
   * folder's counts, so give the general one first.
   */
  readonly directories?: readonly string[] | undefined;
  /** A folder of documentation that the model is pointed to. */
  readonly docs?: string | undefined;
  /** Behind the identity, with the files of `knowledge/`. */
  readonly append?: string | (() => MaybePromise<string>) | undefined;
  /** How to write for a channel, by its name. Beside the built-in hints; an empty text takes one away. */
  readonly platforms?: Readonly<Record<string, string>> | undefined;
  /** Date, working directory, folders and session: true. */
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

/** How to write where the answer is shown. */
export const PLATFORMS: Readonly<Record<string, string>> = Object.freeze({
  terminal: "The answer is shown in a terminal: plain text, short lines, no tables wider than 80 columns.",
  telegram:
    "The answer is shown in Telegram: short paragraphs, **bold** and `code` only, no tables or headings.",
  discord: "The answer is shown in Discord: Markdown without tables, at most 2,000 characters in a message.",
  slack: "The answer is shown in Slack: *bold* with single asterisks, no headings or tables.",
  email: "The answer is sent as an e-mail: whole sentences, a greeting and a closing.",
  sms: "The answer is sent as a text message: one or two plain sentences.",
});
