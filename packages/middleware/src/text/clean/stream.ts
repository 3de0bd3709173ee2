import type { ChatContext, ModelEvent, ModelResponse, StreamTransform } from "@ravi/kernel";
import type { TextFilter } from "../filter.ts";

export interface FilterStreamOptions {
  /** Makes a filter for each streamed text: the text, the reasoning, and the arguments of each call. */
  readonly filter: (json: boolean) => TextFilter;
  readonly response: (response: ModelResponse) => ModelResponse;
}

/** A transform that starts again after `flush`, and after `reset` (when an attempt failed halfway). */
export interface FilterStream extends StreamTransform {
  reset(): void;
}

type Delta = Exclude<ModelEvent, { type: "finish" }>;

/** Adds a layer's transform to a call only once, however often the call is tried. For a further attempt it is reset. */
export function watchStream(
  streams: WeakMap<ChatContext, FilterStream>,
  context: ChatContext,
  make: () => FilterStream,
): void {
  const known = streams.get(context);
  if (known !== undefined) {
    known.reset();
    return;
  }
  const stream = make();
  streams.set(context, stream);
  context.addTransform(stream);
}

/** A transform that puts the deltas of a stream through filters. */
export function filterStream({ filter, response }: FilterStreamOptions): FilterStream {
  const channels = new Map<
    string,
    { readonly filter: TextFilter; readonly rest: (delta: string) => Delta }
  >();

  const channelOf = (event: Delta): TextFilter => {
    const name = event.type === "toolCall" ? `call ${event.index}` : event.type;
    const known = channels.get(name);
    if (known !== undefined) return known.filter;
    const made = filter(event.type === "toolCall");
    const rest = (delta: string): Delta =>
      event.type === "toolCall"
        ? { type: "toolCall", index: event.index, delta }
        : { type: event.type, delta };
    channels.set(name, { filter: made, rest });
    return made;
  };
  const flush = (): Delta[] => {
    const rests = [...channels.values()].map((channel) => channel.rest(channel.filter.end()));
    channels.clear();
    return rests.filter(({ delta }) => delta !== "");
  };

  return {
    push(event) {
      if (event.type === "finish")
        return [...flush(), { type: "finish", response: response(event.response) }];
      const delta = channelOf(event).push(event.delta);
      if (delta === event.delta) return [event];
      // The first event of a call names the tool, so it is sent even if its arguments are held back.
      const isFirst = event.type === "toolCall" && (event.id !== undefined || event.name !== undefined);
      return delta === "" && !isFirst ? [] : [{ ...event, delta }];
    },
    flush,
    reset: () => channels.clear(),
  };
}
