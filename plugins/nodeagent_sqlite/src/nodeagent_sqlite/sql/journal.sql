-- The journal. An entry's place is its scope's number * 2^30 + its seq.

-- name: append_fenced
-- Write an entry after the last of its scope, if the fence holds: the whole of a durable step in one statement. If the
-- fence does not hold, or the scope is new, the key becomes NULL, which its column refuses; the unique
-- index refuses a key that is taken. (INSERT ... SELECT would say the same, but goes through a temporary table.)
INSERT INTO journal (place, key, kind, attempt, at, token, written_by, sha256, size, ref, data)
VALUES (
    (SELECT coalesce(
        (SELECT j.place FROM journal j
         WHERE j.place > s.id << 30 AND j.place < (s.id + 1) << 30
         ORDER BY j.place DESC LIMIT 1),
        s.id << 30
     ) + 1
     FROM scopes s WHERE s.namespace_id = ?1 AND s.name = ?2),
    (SELECT ?6 FROM scopes s CROSS JOIN leases l
     WHERE s.namespace_id = ?1 AND s.name = ?2
       AND l.namespace_id = ?1 AND l.resource = ?3 AND l.claim_id = ?4 AND l.token = ?5
       AND l.state = 'held'),
    ?7, ?8, ?9, ?5, ?10, ?11, ?12, ?13, ?14
);

-- name: add_scope_fenced
-- Give a scope its number if it has none and the fence holds.
INSERT INTO scopes (namespace_id, name)
SELECT l.namespace_id, ?2 FROM leases l
WHERE l.namespace_id = ?1 AND l.resource = ?3 AND l.claim_id = ?4 AND l.token = ?5
  AND l.state = 'held'
ON CONFLICT DO NOTHING;

-- name: scope
-- The number of a scope, which stands for its name.
SELECT id FROM scopes WHERE namespace_id = ? AND name = ?;

-- name: add_scope
-- Give a scope its number.
INSERT INTO scopes (namespace_id, name) VALUES (?, ?);

-- name: append
-- Write an entry after the last of its scope, given by number.
INSERT INTO journal (place, key, kind, attempt, at, token, written_by, sha256, size, ref, data)
VALUES (
    coalesce(
        (SELECT j.place FROM journal j
         WHERE j.place > ?1 << 30 AND j.place < (?1 + 1) << 30
         ORDER BY j.place DESC LIMIT 1),
        ?1 << 30
    ) + 1,
    ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
);

-- name: get
-- One entry by its full name.
SELECT
    j.seq, j.key, j.kind, j.attempt, j.at, j.token, j.written_by, j.sha256, j.size, j.ref, j.data
FROM scopes s JOIN journal j ON j.scope_id = s.id
WHERE s.namespace_id = ? AND s.name = ? AND j.key = ?;

-- name: find
-- Whose an entry is and where it stands, without its value.
SELECT j.written_by, j.seq
FROM scopes s JOIN journal j ON j.scope_id = s.id
WHERE s.namespace_id = ? AND s.name = ? AND j.key = ?;

-- name: read
-- The entries of a scope that follow a seq, in order.
SELECT
    j.seq, j.key, j.kind, j.attempt, j.at, j.token, j.written_by, j.sha256, j.size, j.ref, j.data
FROM scopes s
CROSS JOIN journal j ON j.place > (s.id << 30) + ?3 AND j.place < (s.id + 1) << 30
WHERE s.namespace_id = ?1 AND s.name = ?2
ORDER BY j.place
LIMIT ?4;
