import { checkInteger, InvalidValueError } from "@ravi/kernel";

/** The right to write to a run. The epoch grows with every new claim and never goes back: it fences off an earlier writer. */
export interface Claim {
  /** Null after a release. */
  readonly owner: string | null;
  readonly epoch: number;
  /** Epoch milliseconds. */
  readonly expires: number;
  /** Until when an owner that did not give it back had claimed it, if it was taken from one. Epoch milliseconds. */
  readonly lapsedAt?: number | undefined;
}

/** What a journal says of a claim. */
export type Granted = Pick<Claim, "epoch" | "lapsedAt">;

export function granted({ epoch, lapsedAt }: Claim): Granted {
  return lapsedAt === undefined ? { epoch } : { epoch, lapsedAt };
}

export interface ClaimRequest {
  readonly owner: string;
  readonly ttlMs: number;
  readonly now: number;
  /** Whether an owner is known to be dead. Its claim is then ignored. */
  readonly isGone?: ((owner: string) => boolean) | undefined;
}

/**
 * The claim after the request, or null if somebody else holds it. The same owner renews under the same epoch, even after the claim
 * has lapsed, as long as nobody took it. `floor` is the highest epoch of any deleted run: if a run is created again under an old
 * id, a writer of the old run must still be refused.
 */
export function decideClaim(current: Claim | undefined, request: ClaimRequest, floor: number): Claim | null {
  const { owner, ttlMs, now } = request;
  const expires = now + ttlMs;
  if (current === undefined) return { owner, epoch: floor + 1, expires };
  if (current.owner === owner) return { owner, epoch: current.epoch, expires };
  const gone = current.owner !== null && request.isGone?.(current.owner) === true;
  if (isHeld(current, now) && !gone) return null;
  const claim = { owner, epoch: current.epoch + 1, expires };
  return current.owner === null ? claim : { ...claim, lapsedAt: current.expires };
}

/** Whether the claim is held and has not lapsed. */
export function isHeld(claim: Pick<Claim, "owner" | "expires">, now: number): boolean {
  return claim.owner !== null && claim.expires > now;
}

/** A claim that somebody holds. */
export interface Held {
  readonly owner: string;
  readonly expires: number;
}

/** Who holds the claim, and until when; undefined if nobody does. */
export function heldBy(claim: Pick<Claim, "owner" | "expires"> | undefined, now: number): Held | undefined {
  if (claim === undefined || claim.owner === null || !isHeld(claim, now)) return undefined;
  return { owner: claim.owner, expires: claim.expires };
}

/** The last owner that passed the check: a process claims all its runs under one name. */
let lastGood = "";

/** Throws an `InvalidValueError` if the owner or the time is not valid. */
export function checkClaim(owner: string, ttlMs: number): void {
  if (owner !== lastGood || owner === "") checkOwner(owner);
  checkInteger("ttlMs", ttlMs, 1);
}

function checkOwner(owner: string): void {
  if (typeof owner !== "string" || owner.length === 0 || !owner.isWellFormed()) {
    throw new InvalidValueError({
      field: "owner",
      value: owner,
      expected: "a non-empty string that identifies one process",
    });
  }
  lastGood = owner;
}
