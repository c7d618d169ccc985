-- Leases: who holds what, and the marks that make tokens rise for ever.

-- name: holds
-- Whether a fence holds: its very lease is current. Time plays no part.
SELECT 1 FROM leases
WHERE namespace_id = ? AND resource = ? AND token = ? AND claim_id = ? AND state = 'held';

-- name: last
-- What is known of a resource, to say why a fence does not hold.
SELECT mark, token, claim_id, state FROM leases WHERE namespace_id = ? AND resource = ?;

-- name: current
-- The lease that is held, expired or not.
SELECT resource, holder, token, claim_id, acquired_at, expires_at FROM leases
WHERE namespace_id = ? AND resource = ? AND state = 'held';

-- name: take
-- Make a lease with the next token, unless another claim's is held and unexpired, or this claim's own is held. A resource
-- that was never seen starts above the namespace's floor. (INSERT ... SELECT and RETURNING would say the same, but go
-- through temporary tables.)
INSERT INTO leases (
    namespace_id, resource, kind, lane, job_id, mark, token,
    holder, claim_id, acquired_at, expires_at, state
)
VALUES (
    ?1, ?2, ?3, ?4, ?5,
    (SELECT n.floor + 1 FROM namespaces n WHERE n.id = ?1),
    (SELECT n.floor + 1 FROM namespaces n WHERE n.id = ?1),
    ?6, ?7, ?8, ?9, 'held'
)
ON CONFLICT (namespace_id, resource) DO UPDATE SET
    mark = mark + 1, token = mark + 1, lane = excluded.lane, job_id = excluded.job_id,
    holder = excluded.holder, claim_id = excluded.claim_id,
    acquired_at = excluded.acquired_at, expires_at = excluded.expires_at, state = 'held'
WHERE state <> 'held' OR (expires_at <= ?8 AND claim_id <> ?7);

-- name: token
-- The token of the latest claim.
SELECT token FROM leases WHERE namespace_id = ? AND resource = ?;

-- name: renew
-- Move the expiry of a lease that is held; nothing else is written.
UPDATE leases SET expires_at = ?
WHERE namespace_id = ? AND resource = ? AND token = ? AND claim_id = ? AND state = 'held'
RETURNING resource, holder, token, claim_id, acquired_at, expires_at;

-- name: release
-- End a lease that is held; the mark stays.
UPDATE leases SET state = 'released'
WHERE namespace_id = ? AND resource = ? AND token = ? AND claim_id = ? AND state = 'held';

-- name: revoke
-- Raise the mark, also of what was never claimed, and end the lease if there is one.
INSERT INTO leases (
    namespace_id, resource, kind, mark, token, holder, claim_id, acquired_at, expires_at, state
)
SELECT n.id, ?2, ?3, n.floor + 1, 0, '', '', 0, 0, 'revoked'
FROM namespaces n WHERE n.id = ?1
ON CONFLICT (namespace_id, resource) DO UPDATE SET
    mark = mark + 1, state = CASE state WHEN 'held' THEN 'revoked' ELSE state END;

-- name: free_job
-- A job whose lease ended stands among the claimable again, if it has a time at which it is due.
UPDATE jobs SET leased = 0 WHERE namespace_id = ? AND id = ? AND leased <> 0;

-- name: expired
-- Held leases of a kind that have expired, longest expired first, after a place.
SELECT resource, holder, token, claim_id, acquired_at, expires_at FROM leases
WHERE namespace_id = ? AND kind = ? AND state = 'held' AND expires_at <= ?
  AND (expires_at, resource) > (?, ?)
ORDER BY expires_at, resource
LIMIT ?;
