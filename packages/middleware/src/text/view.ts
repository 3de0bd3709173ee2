import type { TextFilter } from "./filter.ts";

/** A text read in another way: with its escapes as what they stand for, or without what nobody sees. */
export interface View {
  readonly text: string;
  /** Where each of its characters begins in what was read, and where the last one ends. Undefined: at the same places. */
  readonly starts: readonly number[] | undefined;
  /** How much of what was read it stands for. What follows may still become a part of something. */
  readonly end: number;
}

/** Contract: where a text is read in parts, each from the `end` of the one before, all of them make the same as the whole. */
export type ReadView = (text: string, isLast: boolean) => View;

/** The text as it is written. */
export function sameView(text: string): View {
  return { text, starts: undefined, end: text.length };
}

/** Where a character of the view begins in what was read. */
export function placeOf({ starts, end }: View, index: number): number {
  return starts === undefined ? index : (starts[index] ?? end);
}

/** Puts a view together from left to right. */
export class ViewBuilder {
  private readonly source: string;
  private readonly starts: number[] = [];
  private text = "";
  private at = 0;

  constructor(source: string) {
    this.source = source;
  }

  /** What stands before this place stands for itself. */
  copyTo(place: number): void {
    this.text += this.source.slice(this.at, place);
    for (; this.at < place; this.at++) this.starts.push(this.at);
  }

  /** The next so many characters stand for this text. */
  put(length: number, text: string): void {
    for (let index = 0; index < text.length; index++) this.starts.push(this.at);
    this.text += text;
    this.at += length;
  }

  /** All that was put there. Nothing may be put there any more. */
  view(): View {
    this.starts.push(this.at);
    return { text: this.text, starts: this.starts, end: this.at };
  }
}

/** Lets a text out as it was written, as far as a filter that changes nothing has let its view pass. */
export function viewFilter(read: ReadView, inner: TextFilter): TextFilter {
  let held = "";
  /** Up to where of what is held the inner filter has the view. */
  let known = 0;
  /** Where the characters that the inner filter has not let pass begin in what is held. */
  let places: number[] = [];
  const take = (isLast: boolean): string => {
    const view = read(held.slice(known), isLast);
    for (let index = 0; index < view.text.length; index++) places.push(known + placeOf(view, index));
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
