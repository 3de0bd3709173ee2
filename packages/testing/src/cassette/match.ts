import { createHash } from "node:crypto";
import type { ModelRequest } from "@ravi/kernel";
import type { CallLine } from "./format.ts";

/** A recorded call, and whether it was replayed. */
export interface Recording {
  readonly call: CallLine;
  /** As it is compared: redacted and normalized. */
  readonly request: ModelRequest;
  readonly hash: string;
  used: boolean;
}

/** The same for requests with the same content, in whatever order their fields are. */
export function requestHash(request: ModelRequest): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(request)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** The first unused recording of the same request, in the order in which the calls began. It is marked as used. */
export function take(recordings: readonly Recording[], hash: string): Recording | undefined {
  const found = recordings.find((recording) => recording.hash === hash && !recording.used);
  if (found !== undefined) found.used = true;
  return found;
}
