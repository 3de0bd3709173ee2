import { specTypeSchemas } from "@modelcontextprotocol/client";
import { type AbortSignalLike, InvalidValueError, isPromiseLike, ToolError } from "@ravi/kernel";
import { abortable, messageOf } from "@ravi/kernel/loop";
import { changesBetween, manifestOf } from "../manifest.ts";
import type { McpChange, McpClient, McpManifest } from "../model.ts";
import { shown } from "../names.ts";
import { checkSelection, select, type Selection } from "../select.ts";
import { isSameState, type ListState, ListWatch } from "./list-watch.ts";

export interface OfferOptions extends Selection {
  /** Is told of each tool that is left out because its definition is malformed. */
  readonly tell: (message: string) => void;
  readonly approved: McpManifest | undefined;
  /** For each time that they are listed. */
  readonly timeoutS: number;
}

/**
 * What a server offers, compared with what was approved. Without an approval, what it offered at first counts as approved: that is what
 * the model was told. It is listed again after each new connection, and when the server says that its list has changed.
 */
export class Offer {
  readonly approved: McpManifest;
  current: McpManifest;
  changes: readonly McpChange[];
  /** How long listing the tools may take. */
  readonly timeoutS: number;
  private readonly options: OfferOptions;
  private readonly watch: ListWatch;
  private listedAt: ListState;
  private listing: Promise<void> | undefined;

  private constructor(
    options: OfferOptions,
    approved: McpManifest,
    first: { readonly current: McpManifest; readonly watch: ListWatch; readonly listedAt: ListState },
  ) {
    this.options = options;
    this.timeoutS = options.timeoutS;
    this.approved = approved;
    this.current = first.current;
    this.watch = first.watch;
    this.listedAt = first.listedAt;
    this.changes = changesBetween(approved, first.current);
  }

  /** Lists the tools for the first time. Throws an `InvalidValueError` if the selection or a tool that was chosen cannot be used. */
  static async of(client: McpClient, options: OfferOptions): Promise<Offer> {
    const watch = new ListWatch(faultOf);
    const listedAt = watch.state(client);
    const listed = await listOf(client, watch, options);
    checkSelection(options, watch.malformed, listed, options.approved?.tools);
    const current = currentOf(client, listed, options);
    const { approved } = options;
    const chosen = approved && manifestOf("approved", select(approved.tools, options), approved.instructions);
    return new Offer(options, chosen ?? current, { current, watch, listedAt });
  }

  /** Throws a `ToolError` if the tool is not, or not known to be, what was approved. To be asked right before each call. */
  async check(toolName: string, name: string, client: McpClient, signal: AbortSignalLike): Promise<void> {
    // One that is being read for another call may be from before the last change.
    if (this.isOld(client) && this.listing !== undefined) await abortable(this.listing, signal);
    if (this.isOld(client)) {
      this.listing ??= this.listAgain(client).finally(() => (this.listing = undefined));
      await abortable(this.listing, signal);
    }
    const change = this.changes.find(({ tool }) => tool === name);
    if (change === undefined) return;
    const what = change.changed.includes("removed")
      ? "the server no longer has it"
      : `the server has changed its ${change.changed.join(", ")} since it was approved`;
    const todo = "a person has to look at what the server offers now (its manifest) and approve it";
    throw new ToolError({ toolName, message: `${toolName} was not called: ${what}; ${todo}` });
  }

  private isOld(client: McpClient): boolean {
    return !isSameState(this.listedAt, this.watch.state(client));
  }

  private async listAgain(client: McpClient): Promise<void> {
    // From before: a change while the list is being read makes it old again.
    const state = this.watch.state(client);
    const listed = await listOf(client, this.watch, this.options);
    try {
      this.current = currentOf(client, listed, this.options);
    } catch (error) {
      if (!(error instanceof InvalidValueError)) throw error;
      const message = `not called: what the server offers now cannot be compared with what was approved (${messageOf(error)})`;
      throw new ToolError({ message });
    }
    this.changes = changesBetween(this.approved, this.current);
    this.listedAt = state;
  }
}

function currentOf(client: McpClient, listed: readonly unknown[], selection: Selection): McpManifest {
  return manifestOf("the server's list", select(listed, selection), client.getInstructions());
}

/** By the client's own check of a list, which refuses all of it for one. */
function faultOf(tool: unknown): string | undefined {
  const checked = specTypeSchemas.Tool["~standard"].validate(tool);
  const [issue] = isPromiseLike(checked) ? [] : (checked.issues ?? []);
  return issue && `${(issue.path ?? []).map(String).join(".")}: ${issue.message}`;
}

/** All pages, of which the client reads at most 64. */
async function listOf(
  client: McpClient,
  { malformed }: ListWatch,
  { timeoutS, tell }: OfferOptions,
): Promise<readonly unknown[]> {
  malformed.clear();
  // The client would print that there are none.
  if (client.getServerCapabilities()?.tools === undefined) return [];
  // The time is that of one page; the signal is for all of them.
  // A signal takes whole milliseconds only, and 16.1 seconds are a little more than 16,100.
  const timeout = Math.ceil(timeoutS * 1_000);
  const signal = AbortSignal.timeout(timeout);
  const { tools } = await client.listTools(undefined, { timeout, signal, cacheMode: "refresh" });
  for (const [name, fault] of malformed)
    tell(`its tool ${shown(name)} is left out: the definition is malformed (${fault})`);
  return tools;
}
