import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { BlobStore } from "@ravi/kernel";
import { blobRef, checkBytes, verifiedBlob } from "../entries/blobs.ts";
import type { LargeBody } from "../entries/large-body.ts";

/**
 * The run number of blobs that a user has put. They stay until the file is deleted, since nothing says when they are not needed any
 * more.
 */
const USER_BLOBS = 0;

/** What the blobs need of the journal that they share a file with. */
export interface BlobsJournal {
  write<T>(act: () => T): Promise<T>;
  reading<T>(what: string, act: () => T): T;
}

/** Blobs in the journal's own file. A blob of an append is written in the same transaction, so both exist or neither. */
export class SqliteBlobs implements BlobStore {
  private readonly journal: BlobsJournal;
  private readonly insert: StatementSync;
  private readonly insertUse: StatementSync;
  private readonly select: StatementSync;
  private readonly selectUses: StatementSync;
  private readonly deleteUses: StatementSync;
  private readonly deleteUnused: StatementSync;

  constructor(db: DatabaseSync, journal: BlobsJournal) {
    this.journal = journal;
    this.insert = db.prepare("INSERT OR IGNORE INTO blobs VALUES (?, ?)");
    this.insertUse = db.prepare("INSERT OR IGNORE INTO blob_uses VALUES (?, ?)");
    this.select = db.prepare("SELECT bytes FROM blobs WHERE ref = ?");
    this.selectUses = db.prepare("SELECT ref FROM blob_uses WHERE run = ?");
    this.deleteUses = db.prepare("DELETE FROM blob_uses WHERE run = ?");
    this.deleteUnused = db.prepare(
      `DELETE FROM blobs WHERE ref = ? AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.ref = blobs.ref)
       RETURNING length(bytes) AS bytes`,
    );
  }

  async put(bytes: Uint8Array): Promise<string> {
    // A copy: the caller may change its bytes before the group is written.
    const blob = { ref: blobRef(checkBytes(bytes)), bytes: bytes.slice() };
    await this.journal.write(() => this.keep(USER_BLOBS, blob));
    return blob.ref;
  }

  async get(ref: string): Promise<Uint8Array> {
    return this.journal.reading(ref, () => this.read(ref));
  }

  /** Call inside the transaction. */
  keep(run: number, blob: LargeBody): void {
    this.insert.run(blob.ref, blob.bytes);
    this.insertUse.run(run, blob.ref);
  }

  read(ref: string): Uint8Array {
    const bytes = this.select.get(ref)?.["bytes"];
    return verifiedBlob(ref, bytes instanceof Uint8Array ? bytes : undefined);
  }

  /** Call inside the transaction. Keeps blobs that another run uses too. Returns the number of deleted bytes. */
  deleteOf(run: number): number {
    const refs = this.selectUses.all(run).map((row) => String(row["ref"]));
    this.deleteUses.run(run);
    return refs.reduce((sum, ref) => sum + Number(this.deleteUnused.get(ref)?.["bytes"] ?? 0), 0);
  }
}
