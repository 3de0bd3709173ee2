/**
 * Changes a text that arrives in pieces, and may hold back what it cannot decide yet. Contract: the joined output of `push` and
 * `end` is the same however the text is cut, and after `end` the filter can be reused.
 */
export interface TextFilter {
  push(text: string): string;
  end(): string;
}

/** Puts a whole text through a filter. */
export function filterWhole(filter: TextFilter, text: string): string {
  return filter.push(text) + filter.end();
}

/** Puts the output of the first filter through the second. */
export function chainFilters(first: TextFilter, second: TextFilter): TextFilter {
  return {
    push: (text) => second.push(first.push(text)),
    end: () => second.push(first.end()) + second.end(),
  };
}

/** Combines two filters that change nothing: a text is let out once both have let it pass. */
export function bothPass(first: TextFilter, second: TextFilter): TextFilter {
  let held = "";
  // How much of the held text each of them has let pass.
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
