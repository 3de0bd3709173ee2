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
