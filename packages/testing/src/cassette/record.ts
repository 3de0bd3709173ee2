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
import { messageOf } from "@ravi/kernel/loop";
import { type CallLine, type CassetteLine, readCassette } from "./format.ts";
import { checkRecordOptions, type RecordOptions } from "./options.ts";
import { redactEvents, redactor } from "./redact.ts";

/**
 * The same client, whose calls are written to a file as they end: answers, streams and failures, with secrets taken out. A
 * call that was cancelled or left by its reader is not written. Clients of one tree may share a file.
 */
export function record(client: LLMClient, file: string, options: RecordOptions = {}): LLMClient {
  checkRecordOptions(options);
  const redact = redactor(options.redact ?? []);
  const append = openFile(file, client, options.append ?? false);
  let calls = append.calls;

  const begin = (request: ModelRequest): Pick<CallLine, "type" | "client" | "n" | "request"> => ({
    type: "call",
    client: client.id,
    n: ++calls,
    // Now: the list of messages is live, and longer when the call ends.
    request: redact(request),
  });
  const write = (line: CallLine): void => {
    const { type, client: id, n, events, ...told } = line;
    const heard = events === undefined ? told : { ...told, events: redactEvents(events, redact) };
    // Whose call it is stays as it is, or nobody would find it.
    append.write({ type, client: id, n, ...redact(heard) });
  };

  async function* recorded(
    request: ModelRequest,
    call: CallOptions | undefined,
  ): AsyncGenerator<ModelEvent, void> {
    const line = begin(request);
    const events: ModelEvent[] = [];
    let isWritten = false;
    const writeOnce = (told: Pick<CallLine, "error">): void => {
      if (isWritten) return;
      // Also where that fails: a file that cannot be written is no failure of the call.
      isWritten = true;
      write({ ...line, events, ...told });
    };
    try {
      for await (const event of client.stream?.(request, call) ?? []) {
        events.push(event);
        // Before it is told: whoever reads on may stop at the finish.
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
  /** How many calls of this client are in the file already. */
  readonly calls: number;
  write(line: CallLine): void;
}

function openFile(file: string, client: LLMClient, append: boolean): Appender {
  mkdirSync(dirname(file), { recursive: true });
  const before = readCassette(file);
  const known = before?.lines.filter((line) => line.type === "call" && line.client === client.id) ?? [];
  if (known.length > 0 && !append) {
    const expected = `a file without calls of ${client.id} (it has ${known.length}): delete it to record again, or say append: true`;
    throw new InvalidValueError({ field: "cassette", value: file, expected });
  }
  // A torn last line would run into the next one.
  if (before !== undefined && before.wholeBytes < before.bytes) truncateSync(file, before.wholeBytes);
  if (before?.endsOpen === true) appendFileSync(file, "\n");
  let introduced = before?.lines.some((line) => line.type === "client" && line.id === client.id) ?? false;
  // One write for each line, at the file's end: writers that share it do not mix.
  const put = (line: CassetteLine): void => appendLine(file, `${JSON.stringify(line)}\n`);
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

/** All of it or nothing: what a full disk took of a line would run into the next one. */
function appendLine(file: string, line: string): void {
  let handle: number | undefined;
  try {
    handle = openSync(file, "a", 0o600);
    const { size } = fstatSync(handle);
    try {
      appendFileSync(handle, line);
    } catch (error) {
      ftruncateSync(handle, size);
      throw error;
    }
  } catch (cause) {
    const expected = `a file that can be written: ${messageOf(cause)}`;
    throw new InvalidValueError({ field: "cassette", value: file, expected, cause });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
