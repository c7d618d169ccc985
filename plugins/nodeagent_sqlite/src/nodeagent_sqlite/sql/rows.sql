-- Looking at every row for the doctor, a few at a time and youngest first: what is at work now is looked at before what
-- ended long ago. Every namespace's, whose name comes first; then a row's number, what does not fit, and the row whole.

-- name: jobs
-- Jobs below a number, with whether their frame is missing, their lease is not what they say, or they cannot be claimed
-- any more because a number has reached its last, 2^53 - 1.
SELECT
    n.name, j.number,
    CASE
        WHEN NOT EXISTS (SELECT 1 FROM frames f WHERE f.namespace_id = j.namespace_id AND f.id = j.frame_id)
        THEN 'has no frame'
        WHEN (j.leased <> 0) <> EXISTS (
            SELECT 1 FROM leases l
            WHERE l.namespace_id = j.namespace_id AND l.resource = '["job",' || json_quote(j.id) || ']'
              AND l.state = 'held'
        )
        THEN CASE j.leased WHEN 0 THEN 'is held although free' ELSE 'is not held although leased' END
        WHEN max(j.revision, j.attempts, coalesce((
            SELECT l.mark FROM leases l
            WHERE l.namespace_id = j.namespace_id AND l.resource = '["job",' || json_quote(j.id) || ']'
        ), 0)) >= 9007199254740991
        THEN 'has no number left for one more claim'
    END,
    j.id, j.revision, j.written_by, j.spec_digest, j.created_at, j.ended_at, j.lane, j.queue,
    j.runner, j.tenant, j.priority, j.run_after, j.status, j.round, j.attempts, j.token,
    j.frame_id, s.spec, j.state
FROM jobs j
LEFT JOIN namespaces n ON n.id = j.namespace_id
LEFT JOIN specs s ON s.id = j.spec_id
WHERE j.number < ?
ORDER BY j.number DESC
LIMIT ?;

-- name: frames
-- Frames below a number.
SELECT
    n.name, f.number, NULL,
    f.id, f.owner, f.revision, f.written_by, f.spec_digest, f.created_at, f.ended_at, f.receipt, s.spec, f.state
FROM frames f
LEFT JOIN namespaces n ON n.id = f.namespace_id
LEFT JOIN specs s ON s.id = f.spec_id
WHERE f.number < ?
ORDER BY f.number DESC
LIMIT ?;

-- name: runs
-- Runs below a number.
SELECT
    n.name, r.number, NULL,
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.conversation_id, r.tenant,
    r.status, r.token, s.spec, r.state
FROM runs r
LEFT JOIN namespaces n ON n.id = r.namespace_id
LEFT JOIN specs s ON s.id = r.spec_id
WHERE r.number < ?
ORDER BY r.number DESC
LIMIT ?;

-- name: messages
-- Messages below a number.
SELECT
    n.name, m.number, NULL,
    m.id, m.owner, m.revision, m.written_by, m.spec_digest, m.created_at, m.ended_at, m.conversation_id, m.run_id,
    m.role, m.position, s.spec, m.state
FROM messages m
LEFT JOIN namespaces n ON n.id = m.namespace_id
LEFT JOIN specs s ON s.id = m.spec_id
WHERE m.number < ?
ORDER BY m.number DESC
LIMIT ?;
