import type { ModelEvent, ModelResponse, StreamTransform } from "@ravi/kernel";
import { textOf } from "@ravi/kernel";

/** Layers add their transforms from the outside in; an event comes from the inside, like every answer. */

export function through(transforms: readonly StreamTransform[], event: ModelEvent): readonly ModelEvent[] {
  return transforms.reduceRight<readonly ModelEvent[]>(
    (events, transform) => pushAll(transform, events),
    [event],
  );
}

/** What they still hold. The rest of an inner one goes through those further out. */
export function flush(transforms: readonly StreamTransform[]): readonly ModelEvent[] {
  return transforms.reduceRight<readonly ModelEvent[]>(
    (events, transform) => [...pushAll(transform, events), ...transform.flush()],
    [],
  );
}

/** After a failed attempt: they begin anew, and what they held is nobody's. */
export function discard(transforms: readonly StreamTransform[]): void {
  for (const transform of transforms) {
    try {
      transform.flush();
    } catch {
      // A guard that trips over the rest of an answer which has failed anyway.
    }
  }
}

function pushAll(transform: StreamTransform, events: readonly ModelEvent[]): readonly ModelEvent[] {
  return events.length === 1 && events[0] !== undefined
    ? transform.push(events[0])
    : events.flatMap((event) => transform.push(event));
}

/** An answer that was not streamed (from a cache, or held for a judge), as the deltas of one. */
export function eventsOf({ message }: ModelResponse): readonly ModelEvent[] {
  const text = textOf(message);
  const calls = (message.toolCalls ?? []).map(({ id, name, arguments: delta }, index): ModelEvent => ({
    type: "toolCall",
    index,
    id,
    name,
    delta,
  }));
  return text === "" ? calls : [{ type: "text", delta: text }, ...calls];
}
