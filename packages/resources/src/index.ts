/**
 * Spending within limits: `ExecutionTracker` (ledgers with reservations), `ModelMeter` and `PriceBook` (prices and token estimates), and
 * `FairPool` (a limiter for model calls).
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export type { ExecutionTrackerOptions, RestoreOptions } from "./ledger/options.ts";
export type { OpenReservation } from "./ledger/reservation.ts";
export { reserveAll } from "./ledger/reserve-all.ts";
export { restoreLedgers, type RestoreLedgersOptions } from "./ledger/restore.ts";
export { actualOf, spendOf } from "./ledger/spend-of.ts";
export { ExecutionTracker } from "./ledger/tracker.ts";
export type { WrapUpReserve } from "./ledger/wrap-up.ts";

export {
  DEFAULT_MAX_OUTPUT_TOKENS,
  type MeterEstimate,
  ModelMeter,
  type ModelMeterOptions,
} from "./meter.ts";
export type { ModelPrice, OwnPrices } from "./prices/own-prices.ts";
export {
  type BookPrice,
  type ListedPrice,
  PriceBook,
  type PriceBookOptions,
  type PriceSource,
} from "./prices/price-book.ts";
export type { Rates } from "./prices/rates.ts";
export { FILE_TOKENS, IMAGE_TOKENS } from "./tokens/count-request.ts";
export { estimateTokens, type TokenizerChoice } from "./tokens/estimate-tokens.ts";
export type { CountText } from "./tokens/tokenizer.ts";

export { FairPool, type FairPoolOptions } from "./pool/fair-pool.ts";
