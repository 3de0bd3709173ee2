import type { ModelEvent, StreamTransform } from "@ravi/kernel";

/**
 * Puts an event through the transforms. Layers add their transforms from the outermost on; an event comes from the inside, so the
 * last transform is first.
 */
export function through(transforms: readonly StreamTransform[], event: ModelEvent): readonly ModelEvent[] {
  return transforms.reduceRight<readonly ModelEvent[]>(
    (events, transform) => pushAll(transform, events),
    [event],
  );
}

/** Ends the transforms. What an inner one still holds goes through those further out. */
export function flush(transforms: readonly StreamTransform[]): readonly ModelEvent[] {
  return transforms.reduceRight<readonly ModelEvent[]>(
    (events, transform) => [...pushAll(transform, events), ...transform.flush()],
    [],
  );
}

/** Resets the transforms after a failed attempt, and drops what they held. */
export function discard(transforms: readonly StreamTransform[]): void {
  for (const transform of transforms) {
    try {
      transform.flush();
    } catch {
      // A guard may trip over the rest of an answer that has failed anyway.
    }
  }
}

function pushAll(transform: StreamTransform, events: readonly ModelEvent[]): readonly ModelEvent[] {
  return events.length === 1 && events[0] !== undefined
    ? transform.push(events[0])
    : events.flatMap((event) => transform.push(event));
}
