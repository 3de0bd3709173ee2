/** The name under which the SDK knows this package. */
export const NAME = "@ravi/telemetry-otel";

/** Says which version of the conventions the names are from. */
export const SCOPE = { schemaUrl: "https://opentelemetry.io/schemas/1.41.0" } as const;
