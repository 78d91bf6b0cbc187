-- Up Migration

-- A cell is a complete installation that serves some of the acquirers. These tables hold which acquirers this cell
-- serves, and move an acquirer to another cell (see src/tools/cells/README.md).

-- The name of the cell to which this database belongs, and the keys that its processes have loaded, each as
-- `<purpose> <id> <fingerprint>`.
create table cell_identity (
  is_only boolean primary key default true check (is_only),
  name text not null check (name ~ '^[a-z][a-z0-9-]{0,30}$'),
  keys text[] not null,
  changed_at timestamptz not null default clock_timestamp()
);

-- Who may write rows of an acquirer. An acquirer without a row has never been moved: this cell serves it.
--
-- serving: this cell serves it.
-- leaving: this cell serves it, and its rows are copied to `peer`.
-- held, closing: like leaving, but until `held_until` no new work is accepted; closing also closes its connections to
--   switches.
-- arriving: `peer` serves it, and its rows are copied here.
-- gone: this cell has given it up to `peer`.
create table acquirer_cells (
  acquirer_id integer primary key,
  -- Number of the move; increases with each move of the acquirer.
  generation bigint not null,
  state text not null check (state in ('serving', 'leaving', 'held', 'closing', 'arriving', 'gone')),
  peer text not null,
  held_until timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

-- The steps of each move, in both cells.
create table cell_moves (
  acquirer_id integer not null,
  generation bigint not null,
  id bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  step text not null,
  detail text not null default '',
  primary key (acquirer_id, generation, id)
);

-- What the target needs and no table with acquirer_id has: jobs, STAN counters, sequences. The commit in which the
-- source gives the acquirer up writes it, and replication brings it to the target after every other row.
create table handed_over (
  acquirer_id integer not null,
  generation bigint not null,
  kind text not null,
  key text not null,
  value jsonb not null,
  primary key (acquirer_id, generation, kind, key)
);

-- Processes look at this every few milliseconds while an acquirer is moved.
create view served_elsewhere as
  select acquirer_id from acquirer_cells
  where state in ('arriving', 'gone') or (state = 'closing' and held_until > clock_timestamp());

-- The triggers of an acquirer call these; they exist only from the beginning of its move until its rows are removed.
-- The shared lock lasts until the end of the transaction, and the commit that gives the acquirer up takes it
-- exclusively: it waits for all commits that began before, and later ones see its result. 23T03 is in the class of
-- data errors, so that a batch with other acquirers is split.
create function refuse_served_elsewhere() returns trigger language plpgsql as $$
declare
  cell record;
begin
  perform pg_advisory_xact_lock_shared(7403001, tg_argv[0]::integer);
  select state, state in ('held', 'closing') and held_until > clock_timestamp() as is_held into cell
    from acquirer_cells where acquirer_id = tg_argv[0]::integer;
  if cell.state in ('arriving', 'gone') then
    if tg_argv[1] = 'skip' then return null; end if;
  elsif not coalesce(cell.is_held and tg_argv[1] = 'new' and tg_op = 'INSERT', false) then
    return new;
  end if;
  raise exception 'acquirer % is being moved or is served by another cell', tg_argv[0] using errcode = '23T03';
end $$;

-- For transactions: another attempt is new work, too. The purge of card data is not refused: a stale copy keeps no cards.
create function refuse_transaction_served_elsewhere() returns trigger language plpgsql as $$
declare
  cell record;
begin
  if tg_op = 'UPDATE' and new.sealed_card is null and old.sealed_card is not null and new.status = old.status
    and new.updated_at = old.updated_at and new.completing_until is not distinct from old.completing_until then
    return new;
  end if;
  perform pg_advisory_xact_lock_shared(7403001, tg_argv[0]::integer);
  select state, state in ('held', 'closing') and held_until > clock_timestamp() as is_held into cell
    from acquirer_cells where acquirer_id = tg_argv[0]::integer;
  if cell.state not in ('arriving', 'gone') and not (cell.is_held and (tg_op = 'INSERT' or new.attempt <> old.attempt)) then
    return new;
  end if;
  raise exception 'acquirer % is being moved or is served by another cell', tg_argv[0] using errcode = '23T03';
end $$;

-- The owner of a credential as `Authenticator.credential` names it: `key <id>`, or a JSON list whose third entry is the
-- acquirer of a merchant's token or a portal user.
create function acquirer_of_credential(credential text) returns integer language sql stable as $$
  select case
    when credential like 'key %' then (select acquirer_id from api_keys where id = substr(credential, 5))
    when credential like '[%' and (credential::jsonb ->> 2) ~ '^[1-9][0-9]{0,8}$' then (credential::jsonb ->> 2)::integer
  end
$$;

-- Null in rows of the day before this migration, which expire.
alter table idempotency_keys add column acquirer_id integer;

-- A publication with a filter needs the filtered column in the replica identity. These keys do not begin with
-- acquirer_id. With wal_level below logical this changes nothing.
alter table idempotency_keys replica identity full;
alter table api_keys replica identity full;
alter table issuer_keys replica identity full;
alter table console_sessions replica identity full;

-- Down Migration

alter table idempotency_keys replica identity default;
alter table api_keys replica identity default;
alter table issuer_keys replica identity default;
alter table console_sessions replica identity default;
alter table idempotency_keys drop column acquirer_id;
drop function acquirer_of_credential, refuse_transaction_served_elsewhere, refuse_served_elsewhere cascade;
drop view served_elsewhere;
drop table handed_over, cell_moves, acquirer_cells, cell_identity;
