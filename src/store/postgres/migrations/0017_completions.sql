-- Up Migration

-- Until this time a completion of the approval may be in transit. A void that is requested meanwhile waits, so that
-- neither can overtake the other. In no index: its updates stay HOT. Null if approvals post automatically.
alter table transactions add column completing_until timestamptz;

-- Down Migration

alter table transactions drop column completing_until;
