/** An answer of a tree's object takes milliseconds. One that takes so long may be held by a deployment that is gone. */
const SLOW_MS = 2_000;

/** An answer; as long as it does not come, `open` is called now and then. */
export async function orOpened<T>(answer: Promise<T>, open: () => void): Promise<T> {
  const slow = setInterval(open, SLOW_MS);
  try {
    return await answer;
  } finally {
    clearInterval(slow);
  }
}
