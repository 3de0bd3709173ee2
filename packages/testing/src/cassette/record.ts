import {
  appendFileSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  truncateSync,
} from "node:fs";
import { dirname } from "node:path";
import {
  type CallOptions,
  errorToJSON,
  InvalidValueError,
  isCancellation,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
} from "@ravi/kernel";
import { checkModel, messageOf } from "@ravi/kernel/loop";
import { type CallLine, type CassetteLine, readCassette } from "./format.ts";
import { checkRecordOptions, type RecordOptions } from "./options.ts";
import { redactEvents, redactor } from "./redact.ts";

/**
 * Returns the same client, except that its calls are written to a file when they end: answers, streams and failures, without
 * secrets. A call that was cancelled, or whose stream was not read to its end, is not written. Several clients may share a
 * file. Throws an `InvalidValueError` if the file has calls of this client already, unless `append` is set.
 */
export function record(client: LLMClient, file: string, options: RecordOptions = {}): LLMClient {
  checkModel("record: client", client);
  checkRecordOptions(options);
  const redact = redactor(options.redact ?? []);
  const append = openFile(file, client, options.append ?? false);
  let calls = append.calls;

  const begin = (request: ModelRequest): Pick<CallLine, "type" | "client" | "n" | "request"> => ({
    type: "call",
    client: client.id,
    n: ++calls,
    // Copied now: the list of messages may be longer when the call ends.
    request: redact(request),
  });
  const write = (line: CallLine): void => {
    const { type, client: id, n, events, ...outcome } = line;
    const body = events === undefined ? outcome : { ...outcome, events: redactEvents(events, redact) };
    // The client id is not redacted, or replay would not find its calls.
    append.write({ type, client: id, n, ...redact(body) });
  };

  async function* recorded(
    request: ModelRequest,
    call: CallOptions | undefined,
  ): AsyncGenerator<ModelEvent, void> {
    const line = begin(request);
    const events: ModelEvent[] = [];
    let isWritten = false;
    const writeOnce = (outcome: Pick<CallLine, "error">): void => {
      if (isWritten) return;
      // Set even if the write below fails: an error while writing must not be recorded as a failure of the call.
      isWritten = true;
      write({ ...line, events, ...outcome });
    };
    try {
      for await (const event of client.stream?.(request, call) ?? []) {
        events.push(event);
        // Before the event is passed on, because a reader may stop at the finish.
        if (event.type === "finish") writeOnce({});
        yield event;
      }
      writeOnce({});
    } catch (error) {
      if (!isCancellation(error)) writeOnce({ error: errorToJSON(error) });
      throw error;
    }
  }

  return {
    id: client.id,
    info: client.info,
    async generate(request, call) {
      const line = begin(request);
      let response: ModelResponse;
      try {
        response = await client.generate(request, call);
      } catch (error) {
        if (!isCancellation(error)) write({ ...line, error: errorToJSON(error) });
        throw error;
      }
      write({ ...line, response });
      return response;
    },
    ...(client.stream === undefined ? {} : { stream: recorded }),
  };
}

interface Appender {
  /** The number of calls of this client that are in the file already. */
  readonly calls: number;
  write(line: CallLine): void;
}

function openFile(file: string, client: LLMClient, append: boolean): Appender {
  const before = readCassette(file);
  const known = before?.lines.filter((line) => line.type === "call" && line.client === client.id) ?? [];
  if (known.length > 0 && !append) {
    const expected = `a file without calls of ${client.id} (it has ${known.length}): delete it to record again, or set append: true`;
    throw new InvalidValueError({ field: "cassette", value: file, expected });
  }
  toDisk(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    // Otherwise the next line would be appended to a cut-off one.
    if (before !== undefined && before.wholeBytes < before.bytes) truncateSync(file, before.wholeBytes);
    if (before?.endsOpen === true) appendFileSync(file, "\n");
  });
  let introduced = before?.lines.some((line) => line.type === "client" && line.id === client.id) ?? false;
  // Each line is one write at the end of the file, so that several writers do not mix.
  const put = (line: CassetteLine): void => toDisk(file, () => appendLine(file, `${JSON.stringify(line)}\n`));
  return {
    calls: known.length,
    write(line) {
      if (!introduced) {
        const { id, info } = client;
        put({ type: "client", id, info, streams: client.stream !== undefined });
        introduced = true;
      }
      put(line);
    },
  };
}

/** Writes a whole line or nothing: what a full disk accepted of it would be joined with the next line. */
function appendLine(file: string, line: string): void {
  const handle = openSync(file, "a", 0o600);
  try {
    const { size } = fstatSync(handle);
    try {
      appendFileSync(handle, line);
    } catch (error) {
      ftruncateSync(handle, size);
      throw error;
    }
  } finally {
    closeSync(handle);
  }
}

/** An error of the disk is reported as one of the file that was given. */
function toDisk(file: string, write: () => unknown): void {
  try {
    write();
  } catch (cause) {
    const expected = `a file that can be written: ${messageOf(cause)}`;
    throw new InvalidValueError({ field: "cassette", value: file, expected, cause });
  }
}
