-- The tables of nodeagent, in plain words.
--
-- One file holds everything that must survive a crash. Several applications may share it: every row
-- belongs to a *namespace*, whose number stands first in every index, so that no listing, claim or
-- purge ever looks at a neighbour's rows. A namespace is never forgotten, because its *floor* remembers
-- how high tokens have been: a lease whose row was purged starts again above the floor.
--
-- A *job* is what is queued and claimed; a *frame* is what the job is about; *runs* and *messages* are the
-- durable record of a model's turns. Each of the four is a header of typed columns (what is listed, compared and
-- claimed by), a small opaque *state* that is rewritten with it, and an opaque *spec* that is written once and
-- lies in a table of its own: a claim or a change of status never copies it, a listing never reads it.
-- (revision, written_by) is the version that writers compare; created_by is the id of the commit that
-- created the row and never changes, so that a repeated commit recognises itself.
--
-- A *lease* is the right to write as somebody. The row outlives the lease: mark is the highest number that was ever
-- given out for this resource and only rises, token is that of the latest claim, state says how that ended.
-- Time plays no part in it: an expired lease that nobody has taken still holds.
-- For the lease of a job, lane repeats the job's and jobs.leased says that a lease is held; both
-- exist so that a claim finds its jobs by seeking in an index:
--   jobs_ready   those that nobody holds and that have a time at which they are due, in the order of claiming.
--                Finished, parked-for-ever and leased jobs are not in it, however many there are.
--   leases_held  held leases by lane and expiry: the jobs whose holder may have died.
--
-- The *journal* holds entries that are written once. Entries of one scope are numbered 1, 2, 3, … A scope's
-- long name is written once in *scopes*, and an entry's place in the table is its scope's number * 2^30 + its
-- own (scope_id and seq show the two parts). So the table itself is ordered by scope and number, reading a scope
-- is one walk, the next number is one seek, and a commit pays for one table and one unique index.
-- Names of scopes, keys and resources are JSON arrays of strings, never joined with a separator.
--
-- *Artifacts* are immutable bytes under their sha256; the bytes lie apart, so that renewing an age is a small write.
-- *nodeagent_migrations* says which scripts like this one have been applied.

CREATE TABLE namespaces (
    id    INTEGER PRIMARY KEY,
    name  TEXT    NOT NULL UNIQUE,
    floor INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE specs (
    id   INTEGER PRIMARY KEY,
    spec BLOB    NOT NULL
) STRICT;

CREATE TABLE jobs (
    number       INTEGER PRIMARY KEY,
    namespace_id INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    written_by   TEXT    NOT NULL,
    created_by   TEXT    NOT NULL,
    spec_digest  TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    lane         TEXT    NOT NULL,
    queue        TEXT    NOT NULL,
    runner       TEXT    NOT NULL,
    tenant       TEXT    NOT NULL,
    priority     INTEGER NOT NULL,
    run_after    INTEGER,
    status       TEXT    NOT NULL,
    round        INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    frame_id     TEXT    NOT NULL,
    leased       INTEGER NOT NULL DEFAULT 0,
    spec_id      INTEGER NOT NULL,
    state        BLOB    NOT NULL,
    UNIQUE (namespace_id, id)
) STRICT;

CREATE INDEX jobs_ready ON jobs (namespace_id, lane, priority DESC, run_after, created_at, id)
    WHERE leased = 0 AND run_after IS NOT NULL;
CREATE INDEX jobs_by_status ON jobs (namespace_id, status, created_at, id);
CREATE INDEX jobs_by_lane ON jobs (namespace_id, lane, status, created_at, id);
CREATE INDEX jobs_by_tenant ON jobs (namespace_id, tenant, created_at, id);
CREATE INDEX jobs_by_frame ON jobs (namespace_id, frame_id, created_at, id);
CREATE INDEX jobs_ended ON jobs (namespace_id, ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE frames (
    number       INTEGER PRIMARY KEY,
    namespace_id INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    written_by   TEXT    NOT NULL,
    created_by   TEXT    NOT NULL,
    spec_digest  TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    receipt      TEXT,
    spec_id      INTEGER NOT NULL,
    state        BLOB    NOT NULL,
    UNIQUE (namespace_id, id)
) STRICT;

CREATE INDEX frames_by_owner ON frames (namespace_id, owner, created_at, id);
CREATE INDEX frames_by_receipt ON frames (namespace_id, receipt) WHERE receipt IS NOT NULL;

CREATE TABLE runs (
    number          INTEGER PRIMARY KEY,
    namespace_id    INTEGER NOT NULL,
    id              TEXT    NOT NULL,
    owner           TEXT    NOT NULL,
    revision        INTEGER NOT NULL,
    written_by      TEXT    NOT NULL,
    created_by      TEXT    NOT NULL,
    spec_digest     TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    conversation_id TEXT    NOT NULL,
    tenant          TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    token           INTEGER NOT NULL,
    spec_id         INTEGER NOT NULL,
    state           BLOB    NOT NULL,
    UNIQUE (namespace_id, id)
) STRICT;

CREATE INDEX runs_by_conversation ON runs (namespace_id, conversation_id, created_at, id);
CREATE INDEX runs_by_status ON runs (namespace_id, status, created_at, id);
CREATE INDEX runs_by_owner ON runs (namespace_id, owner, created_at, id);
CREATE INDEX runs_ended ON runs (namespace_id, ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE messages (
    number          INTEGER PRIMARY KEY,
    namespace_id    INTEGER NOT NULL,
    id              TEXT    NOT NULL,
    owner           TEXT    NOT NULL,
    revision        INTEGER NOT NULL,
    written_by      TEXT    NOT NULL,
    created_by      TEXT    NOT NULL,
    spec_digest     TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    conversation_id TEXT    NOT NULL,
    run_id          TEXT    NOT NULL,
    role            TEXT    NOT NULL,
    position        INTEGER NOT NULL,
    spec_id         INTEGER NOT NULL,
    state           BLOB    NOT NULL,
    UNIQUE (namespace_id, id)
) STRICT;

CREATE INDEX messages_by_conversation ON messages (namespace_id, conversation_id, position, id);
CREATE INDEX messages_by_owner ON messages (namespace_id, owner);

CREATE TABLE leases (
    number       INTEGER PRIMARY KEY,
    namespace_id INTEGER NOT NULL,
    resource     TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    lane         TEXT,
    job_id       TEXT,
    mark         INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    holder       TEXT    NOT NULL,
    claim_id     TEXT    NOT NULL,
    acquired_at  INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    UNIQUE (namespace_id, resource)
) STRICT;

CREATE INDEX leases_held ON leases (namespace_id, kind, lane, expires_at, resource) WHERE state = 'held';
CREATE INDEX leases_by_claim ON leases (namespace_id, claim_id) WHERE state = 'held';

CREATE TABLE scopes (
    id           INTEGER PRIMARY KEY,
    namespace_id INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    UNIQUE (namespace_id, name)
) STRICT;

CREATE TABLE journal (
    place      INTEGER PRIMARY KEY,
    scope_id   INTEGER GENERATED ALWAYS AS (place >> 30) VIRTUAL,
    seq        INTEGER GENERATED ALWAYS AS (place & 1073741823) VIRTUAL,
    key        TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    attempt    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    token      INTEGER NOT NULL,
    written_by TEXT    NOT NULL,
    sha256     TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    ref        TEXT,
    data       BLOB
) STRICT;

CREATE UNIQUE INDEX journal_keys ON journal (scope_id, key);
CREATE INDEX journal_refs ON journal (ref) WHERE ref IS NOT NULL;

CREATE TABLE artifacts (
    number       INTEGER PRIMARY KEY,
    namespace_id INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    size         INTEGER NOT NULL,
    media_type   TEXT    NOT NULL,
    put_at       INTEGER NOT NULL,
    UNIQUE (namespace_id, id)
) STRICT;

CREATE INDEX artifacts_by_age ON artifacts (namespace_id, put_at);

CREATE TABLE artifact_bytes (
    number INTEGER PRIMARY KEY,
    data   BLOB    NOT NULL
) STRICT;
