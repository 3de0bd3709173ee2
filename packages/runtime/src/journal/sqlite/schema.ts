/** Incremented when the tables change. A file of another format is refused. */
export const FORMAT = 1;
/** "Ravi" in ASCII. It distinguishes a journal from any other SQLite database. */
export const APPLICATION_ID = 0x52617669;

/**
 * The log is append-only: a new row goes to the end of one B-tree, whatever run it belongs to. Instead of an index by run there
 * is a chain: `tips` has the last row of each run, and every row its predecessor. An index would cost about as much as
 * everything else together, since 200 concurrent runs dirty 200 of its pages in every commit, and the write-ahead log takes
 * whole pages.
 *
 * - `tips.fence` is the epoch that may write, 0 if nobody may. An append moves the tip only if the fence and the number of
 *   entries are what it expects. So one statement both fences and keeps the sequence without gaps and duplicates. If SQLite says
 *   (`PRAGMA data_version`, inside the transaction) that no other connection has written since the fence was last compared,
 *   the tip is moved without comparing again.
 * - `log.crc` covers the run's id, `first`, `count`, `prev` and `data`.
 * - `runs` has the claim, and derived data for `list`: `session`, `tenant` and `user` say whose the run is, and `heard` is the last item
 *   that it had read when it noted its waits. `waits` has these, as JSON. `error` is that of a status, as JSON, and counts while that is
 *   the last entry, number `erred`: to read it from the log made `list` take up to thirty times as long. `deleted` has the highest
 *   epoch of any deleted run.
 * - `items` need no run: an answer may come before its question. `cancels` finds for `list` which runs were cancelled, however much else
 *   was posted to them.
 * - `blob_uses` says which runs use a blob; run 0 stands for blobs that a user has put. Without its index, each blob of a deleted run
 *   would cost a scan of all uses.
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
    started NUMERIC NOT NULL,
    session TEXT,
    tenant TEXT,
    user TEXT,
    heard INTEGER NOT NULL,
    error TEXT,
    erred INTEGER NOT NULL
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
  CREATE INDEX cancels ON items (run, seq) WHERE kind = 'cancel';
  CREATE TABLE waits (
    no INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    wait TEXT NOT NULL,
    UNIQUE (run, id)
  );
  CREATE TABLE blobs (ref TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE blob_uses (run INTEGER NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (run, ref)) WITHOUT ROWID;
  CREATE INDEX blob_users ON blob_uses (ref);
  CREATE TABLE deleted (epoch INTEGER NOT NULL);
  INSERT INTO deleted VALUES (0);
`;
