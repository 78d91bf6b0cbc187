-- Up Migration

-- The audit trail is partitioned by month, because it is kept for seven years, and the messages of attempts by day
-- (partitions.ts). The day is that of the insert by the clock of the database. `day` follows `acquirer_id`, where the
-- alignment of the next column leaves room for it. Nothing is read or written again: locks are held for milliseconds.

do $$
declare
  today date := clock_timestamp() at time zone 'UTC';
  -- All rows of the past are older than the day in the name of their table.
  past text := 'transaction_events_before_' || to_char(today + 1, 'YYYYMMDD');
  last_id bigint;
  month date;
  month_table text;
begin
  -- Before the last id is read: an id that is taken afterwards would be used twice, and trails are in the order of ids.
  lock table transaction_events in access exclusive mode;
  last_id := (select last_value from transaction_events_id_seq);
  drop trigger transaction_events_kept_for_seven_years on transaction_events;
  alter table transaction_events alter column id drop identity, alter column day drop default;
  execute format('alter table transaction_events rename to %I', past);
  execute format('alter index transaction_events_by_transaction rename to %I', past || '_by_transaction');
  execute format('alter index transaction_events_by_age rename to %I', past || '_by_age');

  create sequence transaction_events_ids;
  perform setval('transaction_events_ids', last_id);
  create table transaction_events (
    acquirer_id integer not null,
    day date not null default (clock_timestamp() at time zone 'UTC')::date,
    transaction_id uuid not null,
    id bigint not null default nextval('transaction_events_ids'),
    at timestamptz not null default clock_timestamp(),
    attempt smallint not null,
    moves jsonb not null
  ) partition by range (day);
  alter sequence transaction_events_ids owned by transaction_events.id;
  create index transaction_events_by_transaction on transaction_events (acquirer_id, transaction_id, id);
  create trigger transaction_events_append_only before update or truncate on transaction_events
    for each statement execute function refuse_change();
  create trigger transaction_events_kept_for_seven_years before delete on transaction_events
    for each row when (old.at > clock_timestamp() - interval '7 years') execute function refuse_change();

  execute format('alter table transaction_events attach partition %I for values from (minvalue) to (%L)', past, date '2000-01-02');
  execute format('alter table %I drop constraint transaction_events_past', past);
  create table transaction_events_default partition of transaction_events default;
  create trigger transaction_events_default_append_only before update or truncate on transaction_events_default
    for each statement execute function refuse_change();
  create index transaction_events_default_by_age on transaction_events_default using brin (at) with (autosummarize = on);
  for months in 0..2 loop
    month := date_trunc('month', today) + make_interval(months => months);
    month_table := 'transaction_events_' || to_char(month, 'YYYYMMDD');
    execute format('create table %I partition of transaction_events for values from (%L) to (%L)',
      month_table, month, (month + interval '1 month')::date);
    execute format('create trigger %I before update or truncate on %I for each statement execute function refuse_change()',
      month_table || '_append_only', month_table);
  end loop;
end $$;

do $$
declare
  today date := clock_timestamp() at time zone 'UTC';
  past text := 'attempt_messages_before_' || to_char(today + 1, 'YYYYMMDD');
begin
  alter table attempt_messages drop column id, drop column request, drop column response, alter column day drop default;
  execute format('alter table attempt_messages rename to %I', past);
  execute format('alter index attempt_messages_past_by_transaction rename to %I', past || '_by_transaction');
  execute format('alter index attempt_messages_by_age rename to %I', past || '_by_age');

  create table attempt_messages (
    acquirer_id integer not null,
    day date not null default (clock_timestamp() at time zone 'UTC')::date,
    transaction_id uuid not null,
    sent_at timestamptz not null,
    took_ms integer not null,
    processor_id integer not null,
    attempt smallint not null,
    -- The number of the attempt, for a reversal or completion.
    number smallint not null,
    kind text not null constraint attempt_messages_kind_check check (kind in ('authorization', 'reversal', 'completion')),
    connection text not null,
    -- `answered`, `garbled`, or the reason why there is no response.
    outcome text not null constraint attempt_messages_outcome_check check (length(outcome) <= 64),
    -- If a message could not be masked, only its length is stored.
    request_bytes integer,
    response_bytes integer,
    masked_request bytea,
    masked_response bytea
  ) partition by range (day);
  create index attempt_messages_by_transaction on attempt_messages (acquirer_id, transaction_id);

  execute format('alter table attempt_messages attach partition %I for values from (minvalue) to (%L)', past, date '2000-01-02');
  execute format('alter table %I drop constraint attempt_messages_past', past);
  create table attempt_messages_default partition of attempt_messages default;
  create index attempt_messages_default_by_age on attempt_messages_default using brin (sent_at) with (autosummarize = on);
  for days in 0..7 loop
    execute format('create table %I partition of attempt_messages for values from (%L) to (%L)',
      'attempt_messages_' || to_char(today + days, 'YYYYMMDD'), today + days, today + days + 1);
  end loop;
end $$;

-- Down Migration

-- The previous version reads and writes these tables as they are now: nothing is undone.
