import type { ServerResponse } from "node:http";
import type { AbortSignalLike, JsonObject } from "@ravi/kernel";
import type { House } from "./house.ts";
import type { Refusal } from "./refusal.ts";
import type { LoopbackRequest } from "./request.ts";

/** What one provider's server has of its own; everything else is the same for all. */
export interface Protocol {
  /** What the base URL of its clients ends in. */
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

/** A request on its way through an endpoint. */
export interface Served {
  readonly incoming: LoopbackRequest;
  readonly response: ServerResponse;
  readonly house: House;
  /** Aborts when the client has gone. */
  readonly gone: AbortSignalLike;
}
