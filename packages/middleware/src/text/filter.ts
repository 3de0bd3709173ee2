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

/** Two filters that change nothing, each on the text itself: what both have let pass is let out. */
export function bothFilters(first: TextFilter, second: TextFilter): TextFilter {
  let held = "";
  // How much of what is held each of them has let pass.
  let [one, two] = [0, 0];
  const take = (): string => {
    const end = Math.min(one, two);
    const out = held.slice(0, end);
    held = held.slice(end);
    one -= end;
    two -= end;
    return out;
  };
  return {
    push(text) {
      held += text;
      one += first.push(text).length;
      two += second.push(text).length;
      return take();
    },
    end() {
      one += first.end().length;
      two += second.end().length;
      return take();
    },
  };
}
