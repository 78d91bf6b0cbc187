-- Up Migration

-- Until now, a constraint was added to a default partition while it was read, and dropped afterwards. One that remained
-- after a crash would refuse the rows of later days. Partitions are now made without it (partitions.ts).
alter table transaction_events_default drop constraint if exists transaction_events_default_before;
alter table attempt_messages_default drop constraint if exists attempt_messages_default_before;

-- Down Migration

-- Nothing is needed: the previous version adds the constraint when it needs it.
