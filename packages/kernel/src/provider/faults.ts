/** Failures between two machines, before they are classified. They are thrown and caught by the provider. */

/** The answer, or one event of it, is longer than allowed. */
export class OversizedAnswer extends Error {
  constructor(what: string, limit: number) {
    super(`${what} is longer than ${limit} bytes`);
    this.name = "OversizedAnswer";
  }
}

/** The connection broke before the answer was complete. */
export class BrokenConnection extends Error {
  constructor(cause: unknown) {
    super("the connection was lost in the middle of the answer", { cause });
    this.name = "BrokenConnection";
  }
}

/** The server's answer cannot be used: it is not JSON, or incomplete. */
export class UnusableAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnusableAnswer";
  }
}

/** The server redirected the request. Redirects are not followed, because `fetch` would send the key and the prompt along. */
export class RedirectedRequest extends Error {
  readonly status: number | undefined;
  constructor(status: number) {
    super(
      `the server redirects${status === 0 ? "" : ` (${status})`}; redirects are not followed, so that the key is not sent to another server: set baseURL to the address it redirects to`,
    );
    this.name = "RedirectedRequest";
    this.status = status === 0 ? undefined : status;
  }
}
