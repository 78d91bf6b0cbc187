-- Up Migration

-- A delivery that waits for its time in the schedule is brought forward when its endpoint takes deliveries again. Such an early
-- attempt does not count in the schedule: when it fails, the event waits for the same time as before. early_attempts counts
-- those since the last attempt of the schedule, and not_early_before says when the next one is allowed, so that an event that
-- its receiver always refuses is not sent with every recovery. Neither is in an index: updates stay HOT.
alter table webhook_events add column early_attempts smallint not null default 0, add column not_early_before timestamptz;

-- Down Migration

alter table webhook_events drop column early_attempts, drop column not_early_before;
