import type { TextFilter } from "../filter.ts";

/** A text read in another way: with its escapes decoded, or without invisible characters. */
export interface View {
  readonly text: string;
  /**
   * The index in the source at which each character of the view begins, and at which the last one ends. Undefined if the indexes
   * are the same.
   */
  readonly starts: readonly number[] | undefined;
  /** How much of the source the view covers. The rest may still become part of something, such as an escape. */
  readonly end: number;
}

/**
 * Contract: if a text is read in parts, each from the `end` of the one before, the parts together equal the view of the whole.
 */
export type ReadView = (text: string, isLast: boolean) => View;

/** The text as it is written. */
export function sameView(text: string): View {
  return { text, starts: undefined, end: text.length };
}

/** The index in the source at which a character of the view begins. */
export function sourceIndex({ starts, end }: View, index: number): number {
  return starts === undefined ? index : (starts[index] ?? end);
}

/** Builds a view from left to right. */
export class ViewBuilder {
  private readonly source: string;
  private readonly starts: number[] = [];
  private text = "";
  private at = 0;

  constructor(source: string) {
    this.source = source;
  }

  /** Copies the source up to this index. */
  copyTo(place: number): void {
    this.text += this.source.slice(this.at, place);
    for (; this.at < place; this.at++) this.starts.push(this.at);
  }

  /** The next `length` characters of the source stand for this text. */
  put(length: number, text: string): void {
    for (let index = 0; index < text.length; index++) this.starts.push(this.at);
    this.text += text;
    this.at += length;
  }

  /** Returns the view. Nothing may be added after that. */
  view(): View {
    this.starts.push(this.at);
    return { text: this.text, starts: this.starts, end: this.at };
  }
}

/** Wraps a filter that changes nothing: it gets the view, and the original text is let out as far as it has let the view pass. */
export function viewFilter(read: ReadView, inner: TextFilter): TextFilter {
  let held = "";
  /** The index in `held` up to which the inner filter has got the view. */
  let known = 0;
  /** The indexes in `held` of the characters that the inner filter has not let pass yet. */
  let places: number[] = [];
  const take = (isLast: boolean): string => {
    const view = read(held.slice(known), isLast);
    for (let index = 0; index < view.text.length; index++) places.push(known + sourceIndex(view, index));
    known += view.end;
    const passed = inner.push(view.text).length + (isLast ? inner.end().length : 0);
    const end = isLast ? held.length : (places[passed] ?? known);
    const out = held.slice(0, end);
    held = held.slice(end);
    known -= end;
    places = places.slice(passed).map((place) => place - end);
    return out;
  };
  return {
    push(text) {
      held += text;
      return take(false);
    },
    end: () => take(true),
  };
}
