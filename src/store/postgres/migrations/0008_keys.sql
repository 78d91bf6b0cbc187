-- Up Migration

-- Working keys that switches have announced, enciphered under a key of the HSM as they arrived: only the HSM can
-- decrypt them. All workers share them, also after a restart.
create table exchanged_keys (
  acquirer_id integer not null,
  processor_id integer not null,
  -- The name of the key in the HSM.
  key_id text not null,
  use text not null check (use in ('mac', 'pin')),
  -- The number of the key in messages.
  number smallint not null,
  transport_key_id text not null,
  -- A TR-31 key block, or a cryptogram in hex.
  form text not null check (form in ('keyBlock', 'cryptogram')),
  wrapped text not null check (length(wrapped) <= 9999),
  kcv text not null check (length(kcv) between 4 and 10),
  announced_at timestamptz not null default clock_timestamp(),
  -- When the gateway confirmed the key to the switch: null as long as that is not certain.
  acknowledged_at timestamptz,
  -- The end of its acceptance, after another key has replaced it.
  retires_at timestamptz,
  primary key (acquirer_id, processor_id, key_id)
);

-- The process that requests a key from a switch: one at a time.
create table key_requests (
  acquirer_id integer not null,
  processor_id integer not null,
  use text not null,
  asked_until timestamptz not null,
  primary key (acquirer_id, processor_id, use)
);

-- Processors that a worker cannot open, and the reason. A row that is not renewed expires.
create table processor_faults (
  acquirer_id integer not null,
  processor_id integer not null,
  reason text not null check (length(reason) <= 1000),
  seen_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, processor_id)
);

-- Down Migration

drop table processor_faults, key_requests, exchanged_keys;
