import { checkInteger, InvalidValueError } from "@ravi/kernel";

/** Who may write to a run. The epoch goes up with every new claim, and never back: it is what fences a stale writer. */
export interface Claim {
  /** Null once it was released. */
  readonly owner: string | null;
  readonly epoch: number;
  /** Epoch milliseconds. */
  readonly expires: number;
}

export interface ClaimRequest {
  readonly owner: string;
  readonly ttlMs: number;
  readonly now: number;
  /** Whether an owner is known to be no more; then its claim counts for nothing. */
  readonly isGone?: ((owner: string) => boolean) | undefined;
}

/**
 * The claim as it is after the request, or null when somebody else holds it. The same owner renews under the same epoch,
 * also after it lapsed, as long as nobody took it. `floor` is the highest epoch of any run that was deleted: a run made
 * anew under an old name must not accept what a writer of the old one still sends.
 */
export function decideClaim(current: Claim | undefined, request: ClaimRequest, floor: number): Claim | null {
  const { owner, ttlMs, now } = request;
  const expires = now + ttlMs;
  if (current === undefined) return { owner, epoch: floor + 1, expires };
  if (current.owner === owner) return { owner, epoch: current.epoch, expires };
  const gone = current.owner !== null && request.isGone?.(current.owner) === true;
  if (isHeld(current, now) && !gone) return null;
  return { owner, epoch: current.epoch + 1, expires };
}

export function isHeld(claim: Claim, now: number): boolean {
  return claim.owner !== null && claim.expires > now;
}

/** The one that was found good last: a process claims all of its runs in one name. */
let lastGood = "";

export function checkClaim(owner: string, ttlMs: number): void {
  if (owner !== lastGood || owner === "") checkOwner(owner);
  checkInteger("ttlMs", ttlMs, 1);
}

function checkOwner(owner: string): void {
  if (typeof owner !== "string" || owner.length === 0 || !owner.isWellFormed()) {
    throw new InvalidValueError({
      field: "owner",
      value: owner,
      expected: "a text that names one process, and no other",
    });
  }
  lastGood = owner;
}
