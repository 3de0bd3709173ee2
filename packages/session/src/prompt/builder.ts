import { resolve } from "node:path";
import { checkBoolean, checkFields } from "@ravi/kernel";
import { asOwn, checkRecord, forgetOldest, refusalFor } from "@ravi/kernel/loop";
import { assemble, type PromptFacts } from "./assemble.ts";
import { PROMPT_FIELDS, type PromptOptions } from "./options.ts";
import { loadResources, memoryStamp, type Resources } from "./resources.ts";
import type { Skill } from "./skills.ts";

/** Prompts kept at most, one for each combination of channel, day, session and tools in use. */
const MAX_CACHED = 64;

const OWNER = "SessionAgent.prompt";
const wrong = refusalFor(OWNER);

/**
 * Builds system prompts, and returns the same bytes for the same facts. Files are read again after `reload`, and when MEMORY.md
 * or USER.md has changed. Children share their parent's builder, so that their prompts hit the provider's cache too.
 */
export class PromptBuilder {
  private readonly options: PromptOptions;
  private readonly directories: readonly string[];
  private readonly cached = new Map<string, string>();
  private resources: Resources | undefined;
  /** The read that is going on; whoever asks meanwhile waits for it. */
  private loading: Promise<void> | undefined;
  private stamp = "";
  private isStale = false;

  constructor(options: PromptOptions | string | undefined, cwd: string) {
    this.options = checkPrompt(options, cwd);
    this.directories = this.options.directories ?? [];
  }

  get skills(): readonly Skill[] {
    return this.resources?.skills ?? [];
  }

  /** Whether the files were read at least once. */
  get isReady(): boolean {
    return this.resources !== undefined;
  }

  /**
   * Reads the files, unless they are read already and unchanged. If that fails it throws; the previous contents stay in use
   * until the files change again.
   */
  async prepare(): Promise<void> {
    const stamp = this.directories.length === 0 ? "" : await memoryStamp(this.directories);
    const isMissing = this.resources === undefined && this.loading === undefined;
    if (isMissing || this.isStale || stamp !== this.stamp) {
      this.isStale = false;
      this.stamp = stamp;
      const loading: Promise<void> = this.load(() => this.loading === loading);
      this.loading = loading;
    }
    // In a loop: the files may have changed again meanwhile.
    while (this.loading !== undefined) await this.loading;
  }

  /** What a newer read has replaced is not used. */
  private async load(isNewest: () => boolean): Promise<void> {
    try {
      const resources = await loadResources(this.directories, this.options.docs);
      if (!isNewest()) return;
      this.resources = resources;
      this.cached.clear();
    } finally {
      if (isNewest()) this.loading = undefined;
    }
  }

  /** Builds a prompt from what `prepare` has read. */
  async build(facts: Omit<PromptFacts, "appended">): Promise<string> {
    const { append = "" } = this.options;
    const appended = typeof append === "string" ? append : await append();
    if (!isTextOrNone(appended)) wrong("append()", appended, "a string");
    const key = JSON.stringify([facts, appended]);
    const known = this.cached.get(key);
    if (known !== undefined) return known;
    if (this.resources === undefined) return "";
    const text = assemble(this.options, this.resources, { ...facts, appended });
    this.cached.set(key, text);
    forgetOldest(this.cached, MAX_CACHED);
    return text;
  }

  reload(): void {
    this.isStale = true;
  }
}

function checkPrompt(options: PromptOptions | string | undefined, cwd: string): PromptOptions {
  if (options === undefined) return {};
  if (typeof options === "string") return { identity: options };
  checkFields(OWNER, options, PROMPT_FIELDS);
  const { identity, directories = [], docs, append, platforms = {}, footer } = options;
  if (!isTextOrNone(identity)) wrong("identity", identity, "a string");
  if (!Array.isArray(directories) || !directories.every((path) => typeof path === "string"))
    wrong("directories", directories, "an array of paths");
  if (!isTextOrNone(docs)) wrong("docs", docs, "a path");
  if (!isTextOrNone(append) && typeof append !== "function")
    wrong("append", append, "a string, or a function that returns one");
  const hints = checkRecord(`${OWNER}.platforms`, platforms, "an object of texts by channel");
  for (const [channel, hint] of Object.entries(hints))
    if (!isTextOrNone(hint)) wrong(`platforms.${channel}`, hint, "a string");
  if (footer !== undefined) checkBoolean(`${OWNER}.footer`, footer);
  return {
    ...asOwn<PromptOptions>(options, PROMPT_FIELDS),
    directories: directories.map((path: string) => resolve(cwd, path)),
    ...(docs !== undefined && { docs: resolve(cwd, docs) }),
  };
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
