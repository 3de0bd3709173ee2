/** What a server may send. More is no tool that works but one that is broken, or wants to do harm. */
export const LIMITS = Object.freeze({
  /** Of one message, and of one event of a stream. */
  messageBytes: 16 * 1024 * 1024,
  /** Within one window of time, all connections of a server together. */
  windowMs: 10_000,
  windowBytes: 128 * 1024 * 1024,
  windowMessages: 10_000,
  /** Sent to the server and not yet read by it. */
  unreadBytes: 32 * 1024 * 1024,
});
