import { InvalidValueError, type ModelRequest } from "@ravi/kernel";
import { lastText } from "../answers/describe.ts";
import { similarity, unifiedDiff } from "./diff.ts";
import type { Recording } from "./match.ts";
import { requestLines } from "./request-lines.ts";

/** The cassette has no answer for a request. It is not retryable, since the same request would fail again. */
export class UnrecordedRequestError extends InvalidValueError {
  readonly cassette: string;
  readonly client: string;
  /**
   * The difference to the nearest recording. Empty if there is none, or if the same request was recorded but every recording
   * was used.
   */
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
      expected: `a request that was recorded in ${cassette}: ${why}${diff === "" ? "" : `\n${diff}`}\nIf the change is intended, delete the file and record again.`,
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
}

export function unrecorded(init: Unrecorded): UnrecordedRequestError {
  const { recordings, hash, ...rest } = init;
  const same = recordings.filter((recording) => recording.hash === hash);
  if (same.length > 0) {
    const times = same.length === 1 ? "once" : `${same.length} times`;
    return new UnrecordedRequestError({
      ...rest,
      why: `this one was recorded ${times}, and every recording has been replayed already`,
      diff: "",
    });
  }
  const asked = requestLines(init.request);
  const [nearest] = recordings
    .map(({ call, request, used }) => ({ n: call.n, lines: requestLines(request), used }))
    .map((each) => ({ ...each, score: similarity(each.lines, asked) }))
    // Of equally near recordings, prefer one that was not used yet: it is more likely the one that was meant.
    .toSorted((a, b) => b.score - a.score || Number(a.used) - Number(b.used));
  if (nearest === undefined)
    return new UnrecordedRequestError({ ...rest, why: "the cassette has no calls", diff: "" });
  const why = `the most similar one is call ${nearest.n}`;
  return new UnrecordedRequestError({ ...rest, why, diff: unifiedDiff(nearest.lines, asked) });
}
