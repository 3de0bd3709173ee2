import { Anthropic } from "@anthropic-ai/sdk";
import { InvalidValueError } from "@ravi/kernel";
import {
  headerSecrets,
  keyInBrowser,
  type KeyPlaces,
  lowerCased,
  missingKey,
  type Scrub,
  scrubber,
  urlSecrets,
  variable,
} from "@ravi/kernel/provider";
import { type AnthropicOptions, readBaseURL } from "./options.ts";
import { guardedFetch } from "./wire/guarded-fetch.ts";

/** The official client for one server, with the secrets to remove from error messages. */
export interface Connection {
  readonly client: Anthropic;
  readonly scrub: Scrub;
  /** Whether it is a server of Anthropic. */
  readonly isOwn: boolean;
}

const KEY: KeyPlaces = {
  provider: "Anthropic",
  variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
  option: "as in anthropic(model, { apiKey }); a server of your own, given as baseURL, needs none",
};

/** The longest delay of a timer. It turns the client's timeout off: this package has its own. */
const NO_TIMEOUT = 2 ** 31 - 1;

/**
 * Creates the client. It reads the environment, so it is called at the first request. Throws an `InvalidValueError` if no key is
 * found and Anthropic itself is to be called.
 */
export function connect(options: AnthropicOptions): Connection {
  const given = options.baseURL ?? variable("ANTHROPIC_BASE_URL");
  const source = options.baseURL === undefined ? "ANTHROPIC_BASE_URL" : "baseURL";
  const url = given === undefined ? undefined : readBaseURL(given, source);
  const headers = lowerCased(options.headers);
  const key =
    options.apiKey === undefined
      ? (variable("ANTHROPIC_API_KEY") ?? variable("ANTHROPIC_AUTH_TOKEN"))
      : options.apiKey;
  const isAuthorized = "authorization" in headers || "x-api-key" in headers;
  if (key === undefined && url === undefined && !isAuthorized) {
    throw new InvalidValueError({ field: "apiKey", value: undefined, expected: missingKey(KEY) });
  }
  const isOwn = url === undefined || /(?:^|\.)anthropic\.com$/.test(url.hostname);
  const client = clientFor({
    // Without a key there is nothing that the visitors of a page could read.
    dangerouslyAllowBrowser: typeof key !== "string",
    // Without a key the client would look for credentials on the disk. The header with the placeholder is removed below.
    apiKey: key ?? "none",
    webhookKey: null,
    baseURL: url === undefined ? null : `${url.origin}${pathOf(url)}`,
    ...(url === undefined ? {} : { defaultQuery: Object.fromEntries(url.searchParams) }),
    defaultHeaders: {
      // The client adds it for `dangerouslyAllowBrowser`, outside of browsers too. In one, a server would have to allow it.
      "anthropic-dangerous-direct-browser-access": null,
      ...authorization(key, isOwn),
      ...(options.apiVersion === undefined ? {} : { "anthropic-version": options.apiVersion }),
      ...headers,
    },
    fetch: guardedFetch(options.fetch),
    maxRetries: 0,
    timeout: NO_TIMEOUT,
    logLevel: "off",
    // Ravi has its own telemetry, which knows what must not leave the process.
    openTelemetry: false,
  });
  const scrub = scrubber([
    key,
    ...headerSecrets(options.headers),
    ...urlSecrets(url),
    // The client sends these headers on its own.
    ...(variable("ANTHROPIC_CUSTOM_HEADERS") ?? "").split(/[\s:]+/),
  ]);
  return { client, scrub, isOwn };
}

/** Throws an `InvalidValueError` in a browser if there is a key. */
function clientFor(options: ConstructorParameters<typeof Anthropic>[0]): Anthropic {
  try {
    return new Anthropic(options);
  } catch (cause) {
    throw keyInBrowser(cause);
  }
}

/** The client sends the key as a bearer token. Many compatible servers still expect the older header. */
function authorization(key: string | null | undefined, isOwn: boolean): Record<string, string | null> {
  if (key === undefined || key === null) return { authorization: null };
  return isOwn ? {} : { "x-api-key": key };
}

/** Accepts a path with or without `/v1`: servers document both forms. */
function pathOf(url: URL): string {
  return url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
}
