-- Claiming. Every statement seeks in a partial index: jobs_ready holds only jobs that nobody holds and that have a
-- time, leases_held only leases that are held. A job whose frame is missing cannot be handed out and is passed over.

-- name: held_by_claim
-- The jobs whose leases a claim still holds, whole, with frame and lease.
SELECT
    l.resource, l.holder, l.token, l.claim_id, l.acquired_at, l.expires_at,
    j.number
FROM leases l INDEXED BY leases_by_claim
JOIN jobs j ON j.namespace_id = l.namespace_id AND j.id = l.job_id
WHERE l.namespace_id = ? AND l.claim_id = ? AND l.kind = 'job' AND l.state = 'held';

-- name: next_priority
-- The highest priority below another one that has a job ready in a lane, due or not.
SELECT priority FROM jobs INDEXED BY jobs_ready
WHERE namespace_id = ? AND lane = ? AND priority < ? AND leased = 0 AND run_after IS NOT NULL
ORDER BY priority DESC
LIMIT 1;

-- name: ready
-- The jobs of a lane and priority that nobody holds and that are due, in the order of claiming.
SELECT priority, run_after, created_at, id, number FROM jobs INDEXED BY jobs_ready
WHERE namespace_id = ? AND lane = ? AND priority = ? AND leased = 0
  AND run_after IS NOT NULL AND run_after <= ?
ORDER BY run_after, created_at, id;

-- name: abandoned
-- The jobs of a lane that are due and whose lease has expired, in the order of claiming.
SELECT j.priority, j.run_after, j.created_at, j.id, j.number
FROM leases l INDEXED BY leases_held
CROSS JOIN jobs j ON j.namespace_id = l.namespace_id AND j.id = l.job_id
WHERE l.namespace_id = ?1 AND l.kind = 'job' AND l.lane = ?2 AND l.state = 'held'
  AND l.expires_at <= ?3 AND j.run_after <= ?3
ORDER BY j.priority DESC, j.run_after, j.created_at, j.id;

-- name: whole_job
-- A job and its frame, whole.
SELECT
    j.id, j.revision, j.written_by, j.spec_digest, j.created_at, j.ended_at, j.lane, j.queue,
    j.runner, j.tenant, j.priority, j.run_after, j.status, j.round, j.attempts, j.token,
    j.frame_id, js.spec, j.state,
    f.id, f.owner, f.revision, f.written_by, f.spec_digest, f.created_at, f.ended_at, f.receipt,
    fs.spec, f.state
FROM jobs j
JOIN frames f ON f.namespace_id = j.namespace_id AND f.id = j.frame_id
LEFT JOIN specs js ON js.id = j.spec_id
LEFT JOIN specs fs ON fs.id = f.spec_id
WHERE j.number = ?;

-- name: one_job
-- One job by its id, with its lease if it is held.
SELECT j.number, j.run_after, l.expires_at
FROM jobs j
JOIN frames f ON f.namespace_id = j.namespace_id AND f.id = j.frame_id
LEFT JOIN leases l ON l.namespace_id = j.namespace_id AND l.resource = ?3 AND l.state = 'held'
WHERE j.namespace_id = ?1 AND j.id = ?2 AND j.run_after IS NOT NULL;

-- name: mark_running
-- What a claim writes of a job; everything else of it stays.
UPDATE jobs SET
    revision = revision + 1, written_by = ?, status = 'running', attempts = attempts + 1,
    token = ?, leased = 1
WHERE number = ?;

-- name: next_ready
-- When the first job of a lane that nobody holds is due later than a time; some may be left out.
WITH RECURSIVE in_use (priority) AS (
    SELECT (
        SELECT j.priority FROM jobs j INDEXED BY jobs_ready
        WHERE j.namespace_id = ?1 AND j.lane = ?2 AND j.leased = 0 AND j.run_after IS NOT NULL
        ORDER BY j.priority DESC LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT j.priority FROM jobs j INDEXED BY jobs_ready
        WHERE j.namespace_id = ?1 AND j.lane = ?2 AND j.priority < in_use.priority
          AND j.leased = 0 AND j.run_after IS NOT NULL
        ORDER BY j.priority DESC LIMIT 1
    )
    FROM in_use WHERE in_use.priority IS NOT NULL
)
SELECT min((
    SELECT j.run_after FROM jobs j INDEXED BY jobs_ready
    WHERE j.namespace_id = ?1 AND j.lane = ?2 AND j.priority = in_use.priority AND j.leased = 0
      AND j.run_after IS NOT NULL AND j.run_after > ?3
      AND j.number NOT IN (SELECT value FROM json_each(?4))
      AND EXISTS (
          SELECT 1 FROM frames f WHERE f.namespace_id = j.namespace_id AND f.id = j.frame_id
      )
    ORDER BY j.run_after LIMIT 1
))
FROM in_use WHERE in_use.priority IS NOT NULL;

-- name: held_in_lane
-- When the leases of a lane's jobs expire and when the jobs are due, first to expire first; some may be left out.
SELECT l.expires_at, j.run_after
FROM leases l INDEXED BY leases_held
CROSS JOIN jobs j ON j.namespace_id = l.namespace_id AND j.id = l.job_id
WHERE l.namespace_id = ?1 AND l.kind = 'job' AND l.lane = ?2 AND l.state = 'held'
  AND j.run_after IS NOT NULL
  AND j.number NOT IN (SELECT value FROM json_each(?3))
  AND EXISTS (SELECT 1 FROM frames f WHERE f.namespace_id = j.namespace_id AND f.id = j.frame_id)
ORDER BY l.expires_at;
