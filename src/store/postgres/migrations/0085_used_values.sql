-- Up Migration

-- Values that are accepted once in the installation: the chip data of a tap, and the key serial number of a PIN block, each
-- as a hash. A copy of a tap would otherwise pay for another merchant. The key has no tenant for that reason. Rows are
-- written once and never change. They stay as long as the transactions, because a copy stays readable for as long as the
-- keys of its reader, which may have no end.
create table used_values (
  hash uuid primary key,
  -- A hash of the merchant's reference, which may use the value again while nothing reached a switch.
  used_by uuid not null,
  acquirer_id integer not null
);

-- If both cells accepted copies of one tap, the move of an acquirer must not end at the second row. Replication has no
-- search path.
create function leave_out_used_value() returns trigger language plpgsql as $$
begin
  return case when exists (select from public.used_values where hash = new.hash) then null else new end;
end
$$;
create trigger used_values_moved before insert on used_values for each row execute function leave_out_used_value();
alter table used_values enable replica trigger used_values_moved;

-- Down Migration

drop table used_values;
drop function leave_out_used_value();
