-- Up Migration

-- The UTC hour of the last reservation, and the counter at its beginning: a number comes again only in a later hour, because
-- an RRN is the hour and the STAN. Null until the next reservation.
alter table stan_blocks
  add column hour_at timestamptz,
  add column hour_first bigint;

-- Down Migration

alter table stan_blocks drop column hour_at, drop column hour_first;
