-- Immutable bytes by their hash.

-- name: find
-- The number of an artifact.
SELECT number FROM artifacts WHERE namespace_id = ? AND id = ?;

-- name: insert
-- Describe bytes, if they are not there.
INSERT INTO artifacts (namespace_id, id, size, media_type, put_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: renew
-- Bytes that were put again are as young as new ones.
UPDATE artifacts SET put_at = ? WHERE number = ?;

-- name: put_bytes
-- Store the bytes; damaged ones are healed, sound ones are left alone.
INSERT INTO artifact_bytes (number, data) VALUES (?, ?)
ON CONFLICT (number) DO UPDATE SET data = excluded.data WHERE data <> excluded.data;

-- name: get
-- The bytes.
SELECT b.data
FROM artifacts a LEFT JOIN artifact_bytes b ON b.number = a.number
WHERE a.namespace_id = ? AND a.id = ?;

-- name: stat
-- What is known of the bytes, without them.
SELECT size, media_type, put_at FROM artifacts WHERE namespace_id = ? AND id = ?;
