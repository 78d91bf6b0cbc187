-- Statement by statement
-- Up Migration

-- The audit trail and the messages of attempts are the two tables that grow with every tap and are removed by age. The
-- next migration makes them partitioned tables, so that removal is the drop of a partition. Here, their present rows are
-- made ready to become one partition of the past: they get a day that no new row has, and a constraint that says so.
-- Then nothing needs to be read while taps wait. Up to the next migration, new rows get the same day.
alter table transaction_events add column if not exists day date not null default '2000-01-01';

alter table attempt_messages add column if not exists day date not null default '2000-01-01';

do $$ begin
  alter table transaction_events add constraint transaction_events_past check (day = '2000-01-01') not valid;
exception when duplicate_object then null;
end $$;

do $$ begin
  alter table attempt_messages add constraint attempt_messages_past check (day = '2000-01-01') not valid;
exception when duplicate_object then null;
end $$;

alter table transaction_events validate constraint transaction_events_past;

alter table attempt_messages validate constraint attempt_messages_past;

-- Messages are searched by transaction only, and no longer have an id of their own.
create index concurrently if not exists attempt_messages_past_by_transaction on attempt_messages (acquirer_id, transaction_id);

-- Down Migration

drop index attempt_messages_past_by_transaction;

alter table attempt_messages drop column day;

alter table transaction_events drop column day;
