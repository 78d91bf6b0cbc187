-- Up Migration

-- The id of the HTTP request that began the attempt, with which logs of jobs and contents of webhooks can be
-- correlated. Null in rows of an earlier version.
alter table transactions add column correlation_id uuid;

-- Down Migration

alter table transactions drop column correlation_id;
