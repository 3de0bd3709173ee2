/** Goes up when an older release could no longer read the file. */
export const FORMAT = 1;
/** "Ravi" in ASCII, by which a file of ours is told from any other SQLite database. */
export const APPLICATION_ID = 0x52617669;

/**
 * The log is a plain append: a new row goes to the end of one B-tree, whatever run it belongs to. What an index by run
 * would do is done by a chain: `tips` knows the last row of each run, and every row its predecessor. An index costs about
 * as much as everything else together, since 200 runs at once dirty 200 of its pages in every commit, and the write-ahead
 * log takes whole pages.
 *
 * - `tips.fence` is the epoch that may write, 0 when nobody may. An append moves the tip under that condition and under
 *   the number of entries it knows, which makes the sequence gap-free and without doubles in the one statement that also
 *   fences. Where SQLite says (`PRAGMA data_version`, inside the transaction) that no other connection wrote since the
 *   fence was last compared, the tip is moved without comparing again.
 * - `log.crc` covers the run's id, `first`, `count`, `prev` and `data`.
 * - `runs` has what is derived (for `list`) and the claim; `deleted` has the highest epoch of any run that is gone.
 * - `items` need no run: an answer may come before its question.
 * - `blob_uses` says which runs need a blob; run 0 stands for those that somebody put by hand.
 */
export const SCHEMA = `
  CREATE TABLE runs (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT,
    epoch INTEGER NOT NULL,
    expires NUMERIC NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    started NUMERIC NOT NULL
  );
  CREATE TABLE tips (
    run INTEGER PRIMARY KEY,
    fence INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    last INTEGER NOT NULL,
    updated NUMERIC NOT NULL
  );
  CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    prev INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    data TEXT NOT NULL
  );
  CREATE TABLE items (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    at NUMERIC NOT NULL,
    crc INTEGER NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (run, seq),
    UNIQUE (run, id)
  );
  CREATE TABLE blobs (ref TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE blob_uses (run INTEGER NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (run, ref)) WITHOUT ROWID;
  CREATE TABLE deleted (epoch INTEGER NOT NULL);
  INSERT INTO deleted VALUES (0);
`;

/** Made wherever it is missing: files of earlier releases have none, and without it each blob of a deleted run costs a look at all uses. */
export const INDEX = "CREATE INDEX IF NOT EXISTS blob_users ON blob_uses (ref)";
