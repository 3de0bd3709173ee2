import type { AbortSignalLike } from "@ravi/kernel";
import type { McpClient } from "../model.ts";
import type { Cleaning } from "../secrets.ts";

/** The way to a server, as its tools use it. */
export interface Link {
  /** The connected client. Connects again if the connection was lost. */
  connected(signal: AbortSignalLike | undefined): Promise<McpClient>;
  /** Why the last connection was lost, if it is known. */
  readonly lost: string | undefined;
  readonly cleaning: Cleaning;
  /** Called with what a call over this client failed with. */
  noteFailure(error: unknown, client: McpClient): void;
}
