-- Up Migration

-- A delivery that waits for its scheduled time is brought forward when its endpoint accepts deliveries again. Such an
-- early attempt does not count in the schedule: if it fails, the event waits until the same time as before.
-- early_attempts counts early attempts since the last scheduled one, and not_early_before gives the time at which the
-- next one is allowed. So an event that its receiver always refuses is not sent on every recovery. Neither column is in
-- an index: updates stay HOT.
alter table webhook_events add column early_attempts smallint not null default 0, add column not_early_before timestamptz;

-- Down Migration

alter table webhook_events drop column early_attempts, drop column not_early_before;
