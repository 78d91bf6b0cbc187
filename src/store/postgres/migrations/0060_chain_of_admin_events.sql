-- Up Migration

-- The admin events of an acquirer form a chain: each one has the hash of the one before, so that a changed or missing
-- row is found (`tapwire audit verify`). The events of the installation, acquirer 0, are a chain as well.
alter table admin_events
  add column chain_number bigint,
  add column previous_at timestamptz,
  add column previous_hash bytea,
  add column hash bytea;

-- A part of the hashed text: its length in bytes, a colon and the value, or a hyphen for null.
create function admin_event_part(value text) returns text language sql immutable as
  $$ select coalesce(octet_length(convert_to(value, 'UTF8')) || ':' || value, '-') $$;

-- src/observe/audit-chain.ts computes the same, independently of the database.
create function admin_event_hash(event admin_events) returns bytea language sql stable as $$
  select sha256(convert_to(
    admin_event_part(event.acquirer_id::text) || admin_event_part(event.chain_number::text)
    || admin_event_part(event.id::text)
    || admin_event_part(to_char(event.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'))
    || admin_event_part(event.actor) || admin_event_part(event.action) || admin_event_part(event.kind)
    || admin_event_part(event.subject_id::text)
    || admin_event_part(event.before::text) || admin_event_part(event.after::text)
    || admin_event_part(to_char(event.previous_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'))
    || admin_event_part(encode(event.previous_hash, 'hex')), 'UTF8'))
$$;

create function chain_admin_event() returns trigger language plpgsql as $$
declare
  last admin_events;
begin
  -- Events of one acquirer are added one after another: the next one must see this one.
  perform pg_advisory_xact_lock(hashtext('admin_events'), new.acquirer_id);
  select * into last from admin_events where acquirer_id = new.acquirer_id order by chain_number desc limit 1;
  new.chain_number := coalesce(last.chain_number, 0) + 1;
  new.previous_at := last.at;
  new.previous_hash := last.hash;
  new.hash := admin_event_hash(new);
  return new;
end
$$;

alter table admin_events disable trigger user;

do $$
declare
  event admin_events;
  last admin_events;
begin
  for event in select * from admin_events order by acquirer_id, id loop
    if last.acquirer_id is distinct from event.acquirer_id then last := null; end if;
    event.chain_number := coalesce(last.chain_number, 0) + 1;
    event.previous_at := last.at;
    event.previous_hash := last.hash;
    event.hash := admin_event_hash(event);
    update admin_events set chain_number = event.chain_number, previous_at = event.previous_at,
      previous_hash = event.previous_hash, hash = event.hash
    where acquirer_id = event.acquirer_id and id = event.id;
    last := event;
  end loop;
end
$$;

alter table admin_events enable trigger user;

alter table admin_events
  alter column chain_number set not null,
  alter column hash set not null,
  add constraint admin_events_chain unique (acquirer_id, chain_number);

create trigger admin_events_chained before insert on admin_events
  for each row execute function chain_admin_event();

-- Down Migration

drop trigger admin_events_chained on admin_events;
drop function chain_admin_event;
drop function admin_event_hash;
drop function admin_event_part;
alter table admin_events
  drop column chain_number,
  drop column previous_at,
  drop column previous_hash,
  drop column hash;
