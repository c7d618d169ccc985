-- Jobs, frames, runs and messages: the same statements for each of the four tables.
--
-- A header is selected in the order of the columns below; a record is a header, its spec and its state.
-- An update compares the version that the writer read. It comes in two widths: "update" writes what the
-- life of a record changes, so that only the indexes of those columns are written; "rewrite" also writes the
-- columns that rules never change, for a writer who does. A job's leased becomes 0 if its lease ends in the same
-- commit (?7 is 0, else 1): then one update does both.

-- name: insert_spec
-- Store a spec, which is written once.
INSERT INTO specs (spec) VALUES (?);

-- name: get_job
-- One whole job.
SELECT
    r.id, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.lane,
    r.queue, r.runner, r.tenant, r.priority, r.run_after, r.status, r.round, r.attempts,
    r.token, r.frame_id, s.spec, r.state
FROM jobs r LEFT JOIN specs s ON s.id = r.spec_id
WHERE r.namespace_id = ? AND r.id = ?;

-- name: head_job
-- The header of one job.
SELECT
    r.id, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.lane,
    r.queue, r.runner, r.tenant, r.priority, r.run_after, r.status, r.round, r.attempts,
    r.token, r.frame_id
FROM jobs r
WHERE r.namespace_id = ? AND r.id = ?;

-- name: creator_of_job
-- The id of the commit that created a job.
SELECT created_by FROM jobs WHERE namespace_id = ? AND id = ?;

-- name: insert_job
-- Create a job; its unique index refuses an id that is taken.
INSERT INTO jobs (
    namespace_id, id, revision, written_by, created_by, state, spec_digest, spec_id,
    run_after, ended_at, priority, status, round, attempts, token, created_at, lane,
    queue, runner, tenant, frame_id
) VALUES (
    ?1, ?2, 1, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
    ?18, ?19
);

-- name: update_job
-- Write what changes in the life of a job.
UPDATE jobs SET
    revision = revision + 1, written_by = ?3, state = ?4, leased = leased * ?7, run_after = ?8,
    ended_at = ?9, priority = ?10, status = ?11, round = ?12, attempts = ?13, token = ?14
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: rewrite_job
-- Write every column of a job but its id, owner and spec.
UPDATE jobs SET
    revision = revision + 1, written_by = ?3, state = ?4, leased = leased * ?7, run_after = ?8,
    ended_at = ?9, priority = ?10, status = ?11, round = ?12, attempts = ?13, token = ?14,
    created_at = ?15, lane = ?16, queue = ?17, runner = ?18, tenant = ?19, frame_id = ?20
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: get_frame
-- One whole frame.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.receipt, s.spec, r.state
FROM frames r LEFT JOIN specs s ON s.id = r.spec_id
WHERE r.namespace_id = ? AND r.id = ?;

-- name: head_frame
-- The header of one frame.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.receipt
FROM frames r
WHERE r.namespace_id = ? AND r.id = ?;

-- name: creator_of_frame
-- The id of the commit that created a frame.
SELECT created_by FROM frames WHERE namespace_id = ? AND id = ?;

-- name: insert_frame
-- Create a frame; its unique index refuses an id that is taken.
INSERT INTO frames (
    namespace_id, id, revision, written_by, created_by, state, spec_digest, spec_id,
    owner, ended_at, receipt, created_at
) VALUES (
    ?1, ?2, 1, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
);

-- name: update_frame
-- Write what changes in the life of a frame.
UPDATE frames SET
    revision = revision + 1, written_by = ?3, state = ?4, ended_at = ?7, receipt = ?8
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: rewrite_frame
-- Write every column of a frame but its id, owner and spec.
UPDATE frames SET
    revision = revision + 1, written_by = ?3, state = ?4, ended_at = ?7, receipt = ?8,
    created_at = ?9
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: get_run
-- One whole run.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.tenant, r.status, r.token, s.spec, r.state
FROM runs r LEFT JOIN specs s ON s.id = r.spec_id
WHERE r.namespace_id = ? AND r.id = ?;

-- name: head_run
-- The header of one run.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.tenant, r.status, r.token
FROM runs r
WHERE r.namespace_id = ? AND r.id = ?;

-- name: creator_of_run
-- The id of the commit that created a run.
SELECT created_by FROM runs WHERE namespace_id = ? AND id = ?;

-- name: insert_run
-- Create a run; its unique index refuses an id that is taken.
INSERT INTO runs (
    namespace_id, id, revision, written_by, created_by, state, spec_digest, spec_id,
    owner, ended_at, status, token, created_at, conversation_id, tenant
) VALUES (
    ?1, ?2, 1, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
);

-- name: update_run
-- Write what changes in the life of a run.
UPDATE runs SET
    revision = revision + 1, written_by = ?3, state = ?4, ended_at = ?7, status = ?8, token = ?9
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: rewrite_run
-- Write every column of a run but its id, owner and spec.
UPDATE runs SET
    revision = revision + 1, written_by = ?3, state = ?4, ended_at = ?7, status = ?8,
    token = ?9, created_at = ?10, conversation_id = ?11, tenant = ?12
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: get_message
-- One whole message.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.run_id, r.role, r.position, s.spec, r.state
FROM messages r LEFT JOIN specs s ON s.id = r.spec_id
WHERE r.namespace_id = ? AND r.id = ?;

-- name: head_message
-- The header of one message.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.run_id, r.role, r.position
FROM messages r
WHERE r.namespace_id = ? AND r.id = ?;

-- name: creator_of_message
-- The id of the commit that created a message.
SELECT created_by FROM messages WHERE namespace_id = ? AND id = ?;

-- name: insert_message
-- Create a message; its unique index refuses an id that is taken.
INSERT INTO messages (
    namespace_id, id, revision, written_by, created_by, state, spec_digest, spec_id,
    owner, ended_at, created_at, conversation_id, run_id, role, position
) VALUES (
    ?1, ?2, 1, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
);

-- name: update_message
-- Write what changes in the life of a message.
UPDATE messages SET
    revision = revision + 1, written_by = ?3, state = ?4, ended_at = ?7
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: rewrite_message
-- Write every column of a message but its id, owner and spec.
UPDATE messages SET
    revision = revision + 1, written_by = ?3, state = ?4, ended_at = ?7, created_at = ?8,
    conversation_id = ?9, run_id = ?10, role = ?11, position = ?12
WHERE namespace_id = ?1 AND id = ?2 AND revision = ?5 AND written_by = ?6;

-- name: jobs_by_status
-- One page of the jobs of a status, after a place.
SELECT
    r.id, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.lane,
    r.queue, r.runner, r.tenant, r.priority, r.run_after, r.status, r.round, r.attempts,
    r.token, r.frame_id
FROM jobs r
WHERE r.namespace_id = ? AND r.status = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: jobs_by_lane
-- One page of the jobs of a lane and a status, after a place.
SELECT
    r.id, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.lane,
    r.queue, r.runner, r.tenant, r.priority, r.run_after, r.status, r.round, r.attempts,
    r.token, r.frame_id
FROM jobs r
WHERE r.namespace_id = ? AND r.lane = ? AND r.status = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: jobs_by_tenant
-- One page of the jobs of a tenant, after a place.
SELECT
    r.id, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.lane,
    r.queue, r.runner, r.tenant, r.priority, r.run_after, r.status, r.round, r.attempts,
    r.token, r.frame_id
FROM jobs r
WHERE r.namespace_id = ? AND r.tenant = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: jobs_by_frame
-- The job of a frame, after a place.
SELECT
    r.id, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at, r.lane,
    r.queue, r.runner, r.tenant, r.priority, r.run_after, r.status, r.round, r.attempts,
    r.token, r.frame_id
FROM jobs r
WHERE r.namespace_id = ? AND r.frame_id = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: frames_by_job
-- The frame of a job, after a place.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.receipt
FROM frames r
WHERE r.namespace_id = ? AND r.owner = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: runs_by_conversation
-- One page of the runs of a conversation, after a place.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.tenant, r.status, r.token
FROM runs r
WHERE r.namespace_id = ? AND r.conversation_id = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: runs_by_status
-- One page of the runs of a status, after a place.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.tenant, r.status, r.token
FROM runs r
WHERE r.namespace_id = ? AND r.status = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: runs_by_owner
-- One page of the runs of an owner, after a place.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.tenant, r.status, r.token
FROM runs r
WHERE r.namespace_id = ? AND r.owner = ?
  AND (r.created_at, r.id) > (?, ?)
ORDER BY r.created_at, r.id
LIMIT ?;

-- name: messages_by_conversation
-- One page of the messages of a conversation, whole, after a place.
SELECT
    r.id, r.owner, r.revision, r.written_by, r.spec_digest, r.created_at, r.ended_at,
    r.conversation_id, r.run_id, r.role, r.position, s.spec, r.state
FROM messages r LEFT JOIN specs s ON s.id = r.spec_id
WHERE r.namespace_id = ? AND r.conversation_id = ?
  AND (r.position, r.id) > (?, ?)
ORDER BY r.position, r.id
LIMIT ?;
