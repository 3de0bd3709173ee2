/**
 * Changes a text that arrives in pieces. It may hold back what it cannot judge yet. Contract: what `push` and `end` give,
 * put together, is the same for every way to cut the text; after `end` it is as new.
 */
export interface TextFilter {
  push(text: string): string;
  end(): string;
}

export function filterWhole(filter: TextFilter, text: string): string {
  return filter.push(text) + filter.end();
}

export function chainFilters(first: TextFilter, second: TextFilter): TextFilter {
  return {
    push: (text) => second.push(first.push(text)),
    end: () => second.push(first.end()) + second.end(),
  };
}
