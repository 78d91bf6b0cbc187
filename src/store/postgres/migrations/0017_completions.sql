-- Up Migration

-- Until when a completion of the approval may be on its way: a void that was asked for meanwhile waits, so that the two cannot
-- pass each other. In no index: its updates stay HOT. Null wherever approvals post by themselves.
alter table transactions add column completing_until timestamptz;

-- Down Migration

alter table transactions drop column completing_until;
