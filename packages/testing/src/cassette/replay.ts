import {
  type CallOptions,
  cancellationOf,
  errorFromJSON,
  InvalidValueError,
  type LLMClient,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  type ModelResponse,
} from "@ravi/kernel";
import { answerEvents } from "@ravi/kernel/loop";
import { describeRequest } from "../answers/describe.ts";
import { type CallLine, type CassetteLine, readCassette } from "./format.ts";
import { type Recording, requestHash, take } from "./match.ts";
import { checkReplayOptions, type ReplayOptions } from "./options.ts";
import { redactor } from "./redact.ts";
import { unrecorded } from "./unrecorded.ts";

/** A client that answers from a cassette. */
export interface Replay extends LLMClient {
  /** Recorded calls that were not asked for, in the order in which they were made. */
  readonly unused: readonly CallLine[];
  /** Throws if there are recorded calls that were not asked for. */
  assertAllUsed(): void;
}

/**
 * Returns a client that answers from a cassette, without a network. A recorded request gets the same answer, stream or failure
 * as when it was recorded; equal requests get theirs in the order in which they were made. Any other request throws an
 * `UnrecordedRequestError` that shows the difference to the nearest recorded one. Throws an `InvalidValueError` if the file is
 * missing or damaged.
 */
export function replay(file: string, options: ReplayOptions = {}): Replay {
  checkReplayOptions(options);
  const cassette = readCassette(file);
  if (cassette === undefined) {
    throw new InvalidValueError({
      field: "cassette",
      value: file,
      expected: "a file that record() has written",
    });
  }
  const { id, info, streams } = chooseClient(cassette.lines, file, options.id);
  const redact = redactor(options.redact ?? []);
  const { normalize = (request) => request } = options;
  const recordings = cassette.lines
    .filter((line): line is CallLine => line.type === "call" && line.client === id)
    .toSorted((a, b) => a.n - b.n)
    .map((call): Recording => {
      const request = normalize(redact(call.request));
      return { call, request, hash: requestHash(request), used: false };
    });
  let calls = 0;

  const find = (request: ModelRequest, call: CallOptions | undefined): CallLine => {
    if (call?.signal?.aborted === true) throw cancellationOf(call.signal);
    calls++;
    const compared = normalize(redact(request));
    const hash = requestHash(compared);
    const found = take(recordings, hash);
    if (found !== undefined) return found.call;
    throw unrecorded({ cassette: file, client: id, call: calls, request: compared, hash, recordings });
  };

  async function* stream(request: ModelRequest, call?: CallOptions): AsyncGenerator<ModelEvent, void> {
    const line = find(request, call);
    for (const event of eventsOf(line)) {
      if (call?.signal?.aborted === true) throw cancellationOf(call.signal);
      yield event;
    }
    if (line.error !== undefined) throw errorFromJSON(line.error);
  }

  const unused = (): readonly Recording[] => recordings.filter(({ used }) => !used);
  return {
    id,
    info,
    async generate(request, call) {
      const line = find(request, call);
      if (line.error !== undefined) throw errorFromJSON(line.error);
      return responseOf(line, file);
    },
    ...(streams ? { stream } : {}),
    get unused() {
      return unused().map(({ call }) => call);
    },
    assertAllUsed() {
      const left = unused();
      if (left.length === 0) return;
      const shown = left
        .slice(0, 3)
        .map(({ call, request }) => `call ${call.n}:\n${describeRequest(request)}`);
      throw new InvalidValueError({
        field: `cassette ${file}`,
        value: `${left.length} of ${recordings.length} calls of ${id} not replayed`,
        expected: `each recorded call to be replayed. Not replayed:\n${shown.join("\n")}`,
      });
    },
  };
}

interface Chosen {
  readonly id: string;
  readonly info: ModelInfo;
  readonly streams: boolean;
}

function chooseClient(lines: readonly CassetteLine[], file: string, id: string | undefined): Chosen {
  // If a client was recorded twice into one file, there are two lines for it.
  const clients = [
    ...new Map(lines.flatMap((line) => (line.type === "client" ? [[line.id, line]] : []))).values(),
  ];
  const found =
    id === undefined && clients.length === 1 ? clients[0] : clients.find((client) => client.id === id);
  if (found !== undefined) return found;
  const known = clients.map((client) => client.id).join(", ");
  const expected =
    known === "" ? `a cassette with calls; ${file} has none` : `one of the clients in ${file}: ${known}`;
  throw new InvalidValueError({ field: "replay id", value: id, expected });
}

/** The events of a call. If it was not recorded as a stream, each part of the answer is one event. */
function eventsOf({ events, response }: CallLine): readonly ModelEvent[] {
  if (events !== undefined) return events;
  return response === undefined ? [] : [...answerEvents(response), { type: "finish", response }];
}

function responseOf({ response, events = [], n }: CallLine, file: string): ModelResponse {
  const last = events.at(-1);
  const found = response ?? (last?.type === "finish" ? last.response : undefined);
  if (found !== undefined) return found;
  throw new InvalidValueError({
    field: `${file}: call ${n}`,
    value: undefined,
    expected: "a recorded response or events; record the cassette again",
  });
}
