import type { ServerResponse } from "node:http";
import type { AbortSignalLike, JsonObject } from "@ravi/kernel";
import type { ServerContext } from "./server-context.ts";
import type { Refusal } from "./refusal.ts";
import type { LoopbackRequest } from "./request.ts";

/** What differs between the servers of different providers. */
export interface Protocol {
  /** The end of the base URL that clients are given. */
  readonly basePath: string;
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>;
  /** The body of an error. */
  readonly errorBody: (refusal: Refusal) => JsonObject;
}

interface Route {
  readonly method: string;
  serve(served: Served): Promise<void>;
}

/** A request that is being served. */
export interface Served {
  readonly incoming: LoopbackRequest;
  readonly response: ServerResponse;
  readonly context: ServerContext;
  /** Aborts when the client has gone. */
  readonly gone: AbortSignalLike;
}
