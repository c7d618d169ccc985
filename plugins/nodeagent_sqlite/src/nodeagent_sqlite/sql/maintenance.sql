-- The operator's verbs. A purge removes an owner (a job, or a run outside any job) with all that it owns; scopes
-- and resources of an owner are those whose name begins with it, which a range of the JSON text says exactly.

-- name: ended
-- The jobs, and the runs outside any job, that ended before a time, first to end first.
SELECT ended_at, 'job' AS kind, id FROM jobs
WHERE namespace_id = ?1 AND ended_at IS NOT NULL AND ended_at < ?2
UNION ALL
SELECT ended_at, 'run', id FROM runs
WHERE namespace_id = ?1 AND ended_at IS NOT NULL AND ended_at < ?2
  AND owner = '["run",' || json_quote(id) || ']'
ORDER BY ended_at, kind, id
LIMIT ?3;

-- name: purge_job
-- The job itself.
DELETE FROM jobs WHERE namespace_id = ? AND id = ? RETURNING spec_id;

-- name: purge_frames
-- The frames of an owner.
DELETE FROM frames WHERE namespace_id = ? AND owner = ? RETURNING spec_id;

-- name: purge_runs
-- The runs of an owner.
DELETE FROM runs WHERE namespace_id = ? AND owner = ? RETURNING spec_id;

-- name: purge_messages
-- The messages of an owner.
DELETE FROM messages WHERE namespace_id = ? AND owner = ? RETURNING spec_id;

-- name: purge_spec
-- A spec whose record is gone.
DELETE FROM specs WHERE id = ?;

-- name: scopes_of
-- The scopes whose names lie in a range.
SELECT id FROM scopes WHERE namespace_id = ? AND name > ? AND name < ?;

-- name: purge_entries
-- The entries of a scope.
DELETE FROM journal WHERE place > ?1 << 30 AND place < (?1 + 1) << 30;

-- name: purge_scope
-- A scope's name.
DELETE FROM scopes WHERE id = ?;

-- name: raise_floor
-- New leases start above the mark of one that is about to be forgotten.
UPDATE namespaces SET floor = max(floor, coalesce(
    (SELECT mark FROM leases WHERE namespace_id = ?1 AND resource = ?2), 0))
WHERE id = ?1;

-- name: purge_lease
-- Forget a lease and its mark.
DELETE FROM leases WHERE namespace_id = ? AND resource = ?;

-- name: stale_artifacts
-- Artifacts put before a time that no entry and no frame of the namespace refers to.
SELECT a.number FROM artifacts a INDEXED BY artifacts_by_age
WHERE a.namespace_id = ?1 AND a.put_at < ?2
  AND NOT EXISTS (
      SELECT 1 FROM journal j JOIN scopes s ON s.id = j.scope_id
      WHERE j.ref = a.id AND s.namespace_id = ?1
  )
  AND NOT EXISTS (SELECT 1 FROM frames f WHERE f.namespace_id = ?1 AND f.receipt = a.id)
ORDER BY a.put_at, a.number
LIMIT ?3;

-- name: purge_artifact
-- An artifact's description.
DELETE FROM artifacts WHERE number = ?;

-- name: purge_bytes
-- An artifact's bytes.
DELETE FROM artifact_bytes WHERE number = ?;

-- name: drop_bytes
-- The bytes of every artifact of a namespace.
DELETE FROM artifact_bytes WHERE number IN (SELECT number FROM artifacts WHERE namespace_id = ?);

-- name: drop_artifacts
-- The descriptions.
DELETE FROM artifacts WHERE namespace_id = ?;

-- name: drop_entries
-- The entries of every scope of a namespace.
DELETE FROM journal WHERE scope_id IN (SELECT id FROM scopes WHERE namespace_id = ?);

-- name: drop_scopes
-- The scopes.
DELETE FROM scopes WHERE namespace_id = ?;

-- name: drop_specs
-- The specs of every record of a namespace.
DELETE FROM specs WHERE id IN (
    SELECT spec_id FROM jobs WHERE namespace_id = ?1
    UNION ALL SELECT spec_id FROM frames WHERE namespace_id = ?1
    UNION ALL SELECT spec_id FROM runs WHERE namespace_id = ?1
    UNION ALL SELECT spec_id FROM messages WHERE namespace_id = ?1
);

-- name: drop_jobs
-- The jobs.
DELETE FROM jobs WHERE namespace_id = ?;

-- name: drop_frames
-- The frames.
DELETE FROM frames WHERE namespace_id = ?;

-- name: drop_runs
-- The runs.
DELETE FROM runs WHERE namespace_id = ?;

-- name: drop_messages
-- The messages.
DELETE FROM messages WHERE namespace_id = ?;

-- name: keep_marks
-- The floor remembers the highest mark of a namespace.
UPDATE namespaces SET floor = max(floor, coalesce(
    (SELECT max(mark) FROM leases WHERE namespace_id = ?1), 0))
WHERE id = ?1;

-- name: drop_leases
-- The leases; the floor remembers their marks.
DELETE FROM leases WHERE namespace_id = ?;

-- name: lift_floor
-- Raise the floor beyond any token of a time line that was lost.
UPDATE namespaces SET floor = max(?2, floor + ?3, coalesce(
    (SELECT max(mark + (state = 'held')) FROM leases WHERE namespace_id = ?1), 0) + ?3)
WHERE id = ?1;

-- name: lift_marks
-- Revoke every lease and raise every mark to the floor.
UPDATE leases SET
    mark = (SELECT floor FROM namespaces WHERE id = ?1),
    state = CASE state WHEN 'held' THEN 'revoked' ELSE state END
WHERE namespace_id = ?1;

-- name: free_jobs
-- Nobody holds a job any more.
UPDATE jobs SET leased = 0 WHERE namespace_id = ? AND leased <> 0;
