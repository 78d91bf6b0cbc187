-- Up Migration

-- The check value of every working key that a switch has announced. A key is announced once, so an announcement of one of
-- these is a replay. The keys themselves are in exchanged_keys until they are purged.
create table announced_keys (
  acquirer_id integer not null,
  processor_id integer not null,
  use text not null check (use in ('mac', 'pin')),
  kcv text not null check (kcv ~ '^[0-9A-F]{6}$'),
  announced_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, processor_id, use, kcv)
);

-- Keys of a configuration that an exchanged key has replaced, and when each is no longer used. Rows are never deleted: the
-- exchanged keys may be purged, but a replaced key must not return.
create table replaced_keys (
  acquirer_id integer not null,
  processor_id integer not null,
  use text not null check (use in ('mac', 'pin')),
  -- The name of the key in the HSM.
  key_id text not null,
  retires_at timestamptz not null,
  primary key (acquirer_id, processor_id, use, key_id)
);

insert into announced_keys (acquirer_id, processor_id, use, kcv, announced_at)
select acquirer_id, processor_id, use, upper(left(kcv, 6)), min(announced_at) from exchanged_keys
where upper(left(kcv, 6)) ~ '^[0-9A-F]{6}$' group by 1, 2, 3, 4;

insert into replaced_keys (acquirer_id, processor_id, use, key_id, retires_at)
select acquirer_id, processor_id, use, key_id,
  first_at + coalesce((config -> 'keyExchange' ->> 'overlapSeconds')::integer, 300) * interval '1 s'
from (
  select k.acquirer_id, k.processor_id, k.use, p.config, min(k.acknowledged_at) as first_at
  from exchanged_keys k join processors p on p.acquirer_id = k.acquirer_id and p.id = k.processor_id
  where k.acknowledged_at is not null group by 1, 2, 3, 4
) acknowledged
cross join lateral (
  select config -> 'pinKey' ->> 'keyId' as key_id where use = 'pin'
  union
  select value ->> 'keyId' from jsonb_array_elements(config::jsonb -> 'macKeys') where use = 'mac'
) first
where key_id is not null;

-- Down Migration

drop table replaced_keys, announced_keys;
