-- Up Migration

-- Admin events are append-only for seven years, like the audit trail of transactions: older rows may be deleted, and no
-- others.
drop trigger admin_events_append_only on admin_events;

create trigger admin_events_append_only before update or truncate on admin_events
  for each statement execute function refuse_change();

create trigger admin_events_kept_for_seven_years before delete on admin_events
  for each row when (old.at > clock_timestamp() - interval '7 years')
  execute function refuse_change();

create index admin_events_by_age on admin_events using brin (at) with (autosummarize = on);

-- Down Migration

drop index admin_events_by_age;
drop trigger admin_events_kept_for_seven_years on admin_events;
drop trigger admin_events_append_only on admin_events;
create trigger admin_events_append_only before update or delete or truncate on admin_events
  for each statement execute function refuse_change();
