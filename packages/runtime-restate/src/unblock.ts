/** An answer of a tree's object takes milliseconds. After this time it may be blocked by a deployment that is gone. */
const SLOW_MS = 2_000;

/** Awaits an answer. Until it comes, `open` is called every two seconds. */
export async function unblockWhileWaiting<T>(answer: Promise<T>, open: () => void): Promise<T> {
  const slow = setInterval(open, SLOW_MS);
  try {
    return await answer;
  } finally {
    clearInterval(slow);
  }
}
