-- Up Migration

-- Working keys that switches have announced, enciphered under a key of the HSM as they came: nobody else can open them. Shared
-- by every worker, and there after a restart.
create table exchanged_keys (
  acquirer_id integer not null,
  processor_id integer not null,
  -- By which the HSM knows it.
  key_id text not null,
  use text not null check (use in ('mac', 'pin')),
  -- By which messages name it.
  number smallint not null,
  transport_key_id text not null,
  -- A TR-31 key block, or a cryptogram in hex.
  form text not null check (form in ('keyBlock', 'cryptogram')),
  wrapped text not null check (length(wrapped) <= 9999),
  kcv text not null check (length(kcv) between 4 and 10),
  announced_at timestamptz not null default clock_timestamp(),
  -- When the switch was told that we have it: null as long as that is not certain.
  acknowledged_at timestamptz,
  -- Until when it is accepted, once another has taken its place.
  retires_at timestamptz,
  primary key (acquirer_id, processor_id, key_id)
);

-- Who asks a switch for a key: one process at a time.
create table key_requests (
  acquirer_id integer not null,
  processor_id integer not null,
  use text not null,
  asked_until timestamptz not null,
  primary key (acquirer_id, processor_id, use)
);

-- Processors that a worker cannot open, and why. A row that is not renewed is forgotten.
create table processor_faults (
  acquirer_id integer not null,
  processor_id integer not null,
  reason text not null check (length(reason) <= 1000),
  seen_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, processor_id)
);

-- Down Migration

drop table processor_faults, key_requests, exchanged_keys;
