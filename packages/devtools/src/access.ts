import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-error.ts";

type Asking = Pick<IncomingMessage, "headers">;

/**
 * Who may ask this server. It listens on this machine only, but every page that a browser shows here can reach it, and so can every
 * other user of the machine.
 */
export class Access {
  /** 128 bits. It stands in the fragment of the address, which a browser sends to nobody. */
  readonly token: string = randomBytes(16).toString("base64url");
  private readonly hosts: ReadonlySet<string>;

  constructor(port: number) {
    // As a browser names them: without the port if it is 80.
    this.hosts = new Set(["127.0.0.1", "localhost"].map((name) => new URL(`http://${name}:${port}`).host));
  }

  /** Refuses what a page of another site asks: by a name of its own that leads to this machine, or from its own origin. */
  checkSite({ headers: { host = "", origin } }: Asking): void {
    if (!this.hosts.has(host)) throw new HttpError(403, "this is not the address of the page");
    if (origin !== undefined && origin !== `http://${host}`)
      throw new HttpError(403, "only the page itself may ask");
  }

  checkToken({ headers: { authorization = "" } }: Asking): void {
    // Hashed, since only texts of the same length can be compared in a time that tells nothing.
    if (!timingSafeEqual(hashOf(authorization), hashOf(`Bearer ${this.token}`)))
      throw new HttpError(401, "open the page by the whole address that was printed: its end is the key");
  }
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
