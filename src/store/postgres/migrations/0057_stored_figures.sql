-- Up Migration

-- What the switches did, for charts of the past: sums of each span of time and switch. Processes add to them.
create table stored_figures (
  acquirer_id integer not null,
  processor_id integer not null,
  -- Length of the span.
  minutes smallint not null,
  begins_at timestamptz not null,
  -- Numbers of taps by disposition, of declines by response code, and of round trips by the bound of their bucket in
  -- seconds.
  outcomes jsonb not null,
  declines jsonb not null,
  round_trips jsonb not null,
  primary key (acquirer_id, processor_id, minutes, begins_at)
);
create index stored_figures_by_time on stored_figures (minutes, begins_at);

-- The sum of two objects of numbers, key by key.
create function add_counts(one jsonb, other jsonb) returns jsonb
  language sql immutable parallel safe
  return (
    select coalesce(jsonb_object_agg(summed.key, summed.total), '{}')
    from (
      select each.key, sum(each.value::bigint) as total
      from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) each
      group by each.key
    ) summed
  );

-- Down Migration

drop table stored_figures;
drop function add_counts(jsonb, jsonb);
