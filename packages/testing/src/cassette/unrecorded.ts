import { InvalidValueError, type ModelRequest } from "@ravi/kernel";
import { lastText } from "../answers/describe.ts";
import { similarity, unifiedDiff } from "./diff.ts";
import type { Recording } from "./match.ts";
import { requestLines } from "./request-lines.ts";

/** A request came that the cassette has no answer for. Nobody retries it: it would be the same again. */
export class UnrecordedRequestError extends InvalidValueError {
  readonly cassette: string;
  readonly client: string;
  /** Against the nearest recording; empty where there is none, or all that are the same were used. */
  readonly diff: string;
  constructor(init: {
    cassette: string;
    client: string;
    call: number;
    request: ModelRequest;
    why: string;
    diff: string;
  }) {
    const { cassette, client, call, request, why, diff } = init;
    super({
      field: `call ${call} of ${client}`,
      value: lastText(request),
      expected: `a request that was recorded in ${cassette}: ${why}${diff === "" ? "" : `\n${diff}`}\nIf the change is meant, delete the file and record again.`,
    });
    this.cassette = cassette;
    this.client = client;
    this.diff = diff;
  }
}

export interface Unrecorded {
  readonly cassette: string;
  readonly client: string;
  readonly call: number;
  /** As it was compared: redacted and normalized. */
  readonly request: ModelRequest;
  readonly hash: string;
  readonly recordings: readonly Recording[];
  readonly normalize: (request: ModelRequest) => ModelRequest;
}

export function unrecorded(init: Unrecorded): UnrecordedRequestError {
  const { recordings, hash, normalize, ...rest } = init;
  const same = recordings.filter((recording) => recording.hash === hash);
  if (same.length > 0) {
    const times = same.length === 1 ? "once" : `${same.length} times`;
    return new UnrecordedRequestError({
      ...rest,
      why: `this one was made ${times}, and each was replayed`,
      diff: "",
    });
  }
  const asked = requestLines(init.request);
  const ranked = recordings
    .map((recording) => ({ recording, lines: requestLines(normalize(recording.call.request)) }))
    .map((each) => ({ ...each, score: similarity(each.lines, asked) }))
    // Among those that are equally near, one that is still waited for is more likely meant.
    .toSorted((a, b) => b.score - a.score || Number(a.recording.used) - Number(b.recording.used));
  const nearest = ranked[0];
  if (nearest === undefined) return new UnrecordedRequestError({ ...rest, why: "it has no calls", diff: "" });
  const diff = unifiedDiff(nearest.lines, asked);
  return new UnrecordedRequestError({
    ...rest,
    why: `the nearest is call ${nearest.recording.call.n}`,
    diff,
  });
}
