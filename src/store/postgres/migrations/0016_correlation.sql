-- Up Migration

-- Of the HTTP request that began the attempt, so that what jobs log and what webhooks carry can be joined with it. Null in rows
-- of a version that did not know it yet.
alter table transactions add column correlation_id uuid;

-- Down Migration

alter table transactions drop column correlation_id;
