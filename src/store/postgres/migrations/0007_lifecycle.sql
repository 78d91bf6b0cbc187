-- Up Migration

-- Old rows are adjacent, in the order of their insertion. A summary for each range of pages finds them, and costs
-- almost nothing on insert.
create index transactions_by_age on transactions using brin (created_at) with (autosummarize = on);
create index transaction_events_by_age on transaction_events using brin (at) with (autosummarize = on);
create index webhook_events_by_age on webhook_events using brin (created_at) with (autosummarize = on);
create index webhook_attempts_by_age on webhook_attempts using brin (at) with (autosummarize = on);

-- Progress of the purge: no older row of this kind exists.
create table purge_marks (
  kind text primary key check (kind in ('cards', 'audit', 'webhooks')),
  up_to timestamptz not null
);

-- The audit trail stays append-only for seven years: older rows may be deleted, and no others.
drop trigger transaction_events_append_only on transaction_events;

create trigger transaction_events_append_only before update or truncate on transaction_events
  for each statement execute function refuse_change();

create trigger transaction_events_kept_for_seven_years before delete on transaction_events
  for each row when (old.at > clock_timestamp() - interval '7 years')
  execute function refuse_change();

-- Down Migration

drop trigger transaction_events_kept_for_seven_years on transaction_events;
drop trigger transaction_events_append_only on transaction_events;
create trigger transaction_events_append_only before update or delete on transaction_events
  for each statement execute function refuse_change();
drop table purge_marks;
drop index webhook_attempts_by_age, webhook_events_by_age, transaction_events_by_age, transactions_by_age;
