import type { ObjectContext, ObjectSharedContext, Context } from "@restatedev/restate-sdk";
import { json } from "../../json.ts";
import { EXECUTION } from "../../names.ts";
import { bytesOf, inParts, MOST } from "../../sizes.ts";
import { awaiting, type Steps } from "../steps.ts";
import type { KeptOperations } from "./operations.ts";
import type { Kept, Operation } from "./steps.ts";

// What is kept of an execution is state of its workflow, so it stays as long as the server keeps the workflow.

const HEAD = "kept";
const pageName = (page: number): string => `kept:${page}`;
const PAGE = { mostItems: Infinity, mostBytes: 1024 * 1024, sizeOf: bytesOf };

type Head = Omit<Kept, "operations"> & { readonly pages: number };
type PageMessage = { readonly page: number | null };

/**
 * Keeps what an execution has done. Returns whether it could be kept: one operation may have at most what the server takes in a message. The
 * head is recorded first, since an error may have another text in a replay.
 */
export function* keeping(
  context: Context,
  head: Omit<Kept, "operations">,
  operations: KeptOperations,
): Steps<boolean> {
  const known = yield* awaiting(
    context.run("kept", () => head, { serde: json<typeof head>() }),
    { cut: false },
  );
  const all = operations.whole;
  const canBeKept = bytesOf(known) <= MOST && all?.every((operation) => bytesOf(operation) <= MOST) === true;
  if (all === undefined || !canBeKept) return false;
  store(context as ObjectContext, { ...known, operations: all });
  return true;
}

function store(context: ObjectContext, { operations, ...head }: Kept): void {
  let pages = 0;
  for (const page of inParts(operations, PAGE))
    context.set(pageName(pages++), page, json<readonly Operation[]>());
  context.set(HEAD, { ...head, pages }, json<Head>());
}

/** The handler that other invocations read it with: the head without a number, or a page. Null if there is none. */
export async function readPage(
  context: ObjectSharedContext,
  { page }: PageMessage,
): Promise<Head | readonly Operation[] | null> {
  if (page === null) return context.get<Head>(HEAD, json());
  return context.get<readonly Operation[]>(pageName(page), json());
}

/** Reads what an earlier invocation has kept, under its key. Undefined if there is nothing. */
export async function readKept(context: Context, key: string): Promise<Kept | undefined> {
  const read = <T>(page: number | null): Promise<T | null> =>
    context.genericCall<PageMessage, T | null>({
      service: EXECUTION,
      method: "kept",
      key,
      parameter: { page },
      inputSerde: json(),
      outputSerde: json(),
    });
  const head = await read<Head>(null);
  if (head === null) return undefined;
  const operations: Operation[] = [];
  for (let page = 0; page < head.pages; page++) {
    const some = await read<readonly Operation[]>(page);
    // The server forgets it just now. What is missing would be done, and paid for, again.
    if (some === null) return undefined;
    operations.push(...some);
  }
  return { ...head, operations };
}
