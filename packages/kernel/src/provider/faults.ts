/** What can go wrong between two machines, before anybody looks at what it means. Seen by the provider that threw it. */

/** What a server sent is more than it may. */
export class OversizedAnswer extends Error {
  constructor(what: string, limit: number) {
    super(`${what} is longer than ${limit} bytes`);
    this.name = "OversizedAnswer";
  }
}

/** The connection broke before the answer was whole. */
export class BrokenConnection extends Error {
  constructor(cause: unknown) {
    super("the connection broke off in the middle of the answer", { cause });
    this.name = "BrokenConnection";
  }
}

/** The server answered, and it is no answer. */
export class UnusableAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnusableAnswer";
  }
}
