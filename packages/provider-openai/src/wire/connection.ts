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
import { OpenAI } from "openai";
import { CHAT } from "../chat/protocol.ts";
import { readBaseURL, type OpenAIOptions } from "../options.ts";
import type { Protocol } from "./protocol.ts";
import { RESPONSES } from "../responses/protocol.ts";
import { guardedFetch } from "./guarded-fetch.ts";

/** The official client for one server, with the secrets to remove from error messages. */
export interface Connection {
  readonly client: OpenAI;
  readonly scrub: Scrub;
  /** Whether it is another server than OpenAI's own or Azure's. */
  readonly isCompatible: boolean;
  readonly protocol: Protocol;
}

const KEY: KeyPlaces = {
  provider: "OpenAI",
  variables: ["OPENAI_API_KEY"],
  option: "as in openai(model, { apiKey }); a server of your own, given as baseURL, needs none",
};

/** The longest delay of a timer. It turns the client's timeout off: this package has its own. */
const NO_TIMEOUT = 2 ** 31 - 1;

/**
 * Creates the client. It reads the environment, so it is called at the first request. Throws an `InvalidValueError` if no key is
 * found and OpenAI itself is to be called.
 */
export function connect(options: OpenAIOptions): Connection {
  const baseURL = options.baseURL ?? variable("OPENAI_BASE_URL");
  const url =
    baseURL === undefined
      ? undefined
      : readBaseURL(baseURL, options.baseURL === undefined ? "OPENAI_BASE_URL" : "baseURL");
  const apiKey = options.apiKey === undefined ? variable("OPENAI_API_KEY") : options.apiKey;
  const authorized = Object.keys(options.headers ?? {}).some((name) =>
    /^(?:authorization|api-key)$/i.test(name),
  );
  if (apiKey === undefined && url === undefined && !authorized) {
    throw new InvalidValueError({ field: "apiKey", value: undefined, expected: missingKey(KEY) });
  }
  const client = clientFor({
    // Without a key there is nothing that the visitors of a page could read.
    dangerouslyAllowBrowser: typeof apiKey !== "string",
    // The client requires a key, even if its header is removed below.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    baseURL: baseURL ?? null,
    // Organization and project in the environment belong to OpenAI and must not be sent to another server.
    organization: options.organization ?? (url === undefined ? undefined : null),
    project: options.project ?? (url === undefined ? undefined : null),
    defaultHeaders: {
      ...(typeof apiKey === "string" ? {} : { authorization: null }),
      ...lowerCased(options.headers),
    },
    fetch: guardedFetch(options.fetch),
    maxRetries: 0,
    timeout: NO_TIMEOUT,
    logLevel: "off",
  });
  return {
    client,
    scrub: scrubber([
      apiKey,
      ...headerSecrets(options.headers),
      ...urlSecrets(url),
      // The client sends these headers on its own.
      ...(variable("OPENAI_CUSTOM_HEADERS") ?? "").split(/[\s:]+/),
    ]),
    isCompatible: url !== undefined && !/(?:^|\.)(?:openai\.com|openai\.azure\.com)$/.test(url.hostname),
    protocol: protocolFor(options.api, url),
  };
}

/** Throws an `InvalidValueError` in a browser if there is a key. */
function clientFor(options: ConstructorParameters<typeof OpenAI>[0]): OpenAI {
  try {
    return new OpenAI(options);
  } catch (cause) {
    throw keyInBrowser(cause);
  }
}

/** All compatible servers speak Chat Completions; only some speak the Responses API. */
function protocolFor(api: OpenAIOptions["api"], url: URL | undefined): Protocol {
  const isOpenAI = url === undefined || /(?:^|\.)openai\.com$/.test(url.hostname);
  return (api ?? (isOpenAI ? "responses" : "chat")) === "responses" ? RESPONSES : CHAT;
}
