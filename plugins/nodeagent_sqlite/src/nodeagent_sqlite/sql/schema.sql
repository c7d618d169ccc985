-- What the file says about itself.

-- name: count_objects
-- How many tables, indexes and views the file has: none in a new one.
SELECT count(*) FROM sqlite_schema;

-- name: find_migrations
-- Whether the file has our table of migrations.
SELECT 1 FROM sqlite_schema
WHERE type = 'table' AND name = 'nodeagent_migrations';

-- name: create_migrations
-- The list of the scripts that were applied; the highest number is the file's schema version.
CREATE TABLE IF NOT EXISTS nodeagent_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    phase      TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- name: applied_migrations
-- The numbers of the scripts that were applied.
SELECT number FROM nodeagent_migrations;

-- name: record_migration
-- Remember that a script was applied, in the same transaction.
INSERT INTO nodeagent_migrations (number, name, phase, applied_at) VALUES (?, ?, ?, ?);

-- name: find_namespace
-- The number of a namespace.
SELECT id FROM namespaces WHERE name = ?;

-- name: add_namespace
-- Give a namespace its number; two processes may try at once.
INSERT INTO namespaces (name) VALUES (?) ON CONFLICT DO NOTHING;
